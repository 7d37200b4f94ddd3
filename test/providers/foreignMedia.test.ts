import { expect, it } from 'vitest';
import { serves } from '../../domain/modelAccess.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { createGuardedFetch } from '../../infra/http/guardedFetch.ts';
import { createMediaProviders } from '../../providers/createMediaProviders.ts';

const tools = { ffmpegPath: 'ffmpeg', ffprobePath: 'ffprobe', workFolder: '/nowhere' };
const guardedFetch = createGuardedFetch({ allowPrivateHosts: [] });

function opened(providers: Record<string, ProviderSettings>, secrets: Record<string, string>) {
  const secret = (name: string) => secrets[name];
  return createMediaProviders({ providers, dataFolder: '/nowhere', secret }, { tools, guardedFetch });
}

it('fal and Replicate make media for clients that wait where their key is set, by whatever name', () => {
  const entries: Record<string, ProviderSettings> = {
    fal: { kind: 'fal' },
    mine: { kind: 'fal', apiKeyEnv: 'MY_KEY' },
    replicate: { kind: 'replicate' },
    second: { kind: 'replicate', apiKeyEnv: 'SECOND_KEY' },
  };
  expect([...opened(entries, {}).keys()]).toEqual([]);
  expect([...opened(entries, { FAL_KEY: 'a:b', SECOND_KEY: 'r8' }).keys()]).toEqual(['fal', 'second']);
  expect([...opened(entries, { MY_KEY: 'a:b', REPLICATE_API_TOKEN: 'r8' }).keys()]).toEqual([
    'mine',
    'replicate',
  ]);
});

it('what their models are listed for, they can be asked for', () => {
  const operations = [
    ['image', 'makeImages'],
    ['inpaint', 'editImage'],
    ['upscale', 'enlarge'],
    ['asr', 'transcribe'],
    ['tts', 'speak'],
  ] as const;
  const providers = opened(
    { fal: { kind: 'fal' }, replicate: { kind: 'replicate' } },
    { FAL_KEY: 'a:b', REPLICATE_API_TOKEN: 'r8' },
  );
  for (const kind of ['fal', 'replicate'] as const) {
    for (const [model, operation] of operations) {
      expect(serves(kind, model), `${kind} ${model}`).toBe(true);
      expect(providers.get(kind)?.[operation], `${kind} ${operation}`).toBeTypeOf('function');
    }
  }
});
