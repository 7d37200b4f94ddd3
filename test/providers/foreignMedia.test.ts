import { expect, it } from 'vitest';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { createImageWork } from '../../engines/images/imageWork.ts';
import { openProviders, PROVIDER_KINDS } from './configured.ts';

function opened(providers: Record<string, ProviderSettings>, secrets: Record<string, string>) {
  return openProviders(providers, { secrets }).media(createImageWork());
}

it('fal and Replicate make synchronous media under any entry name when their key is set', () => {
  const entries: Record<string, ProviderSettings> = {
    fal: { kind: 'fal' },
    mine: { kind: 'fal', apiKeyEnv: 'MY_KEY' },
    replicate: { kind: 'replicate' },
    second: { kind: 'replicate', apiKeyEnv: 'SECOND_KEY' },
  };
  expect([...opened(entries, {}).keys()]).toEqual([]);
  expect([...opened(entries, { FAL_KEY: 'a:b', SECOND_KEY: 'r8' }).keys()]).toEqual(['fal', 'second']);
  expect([...opened(entries, { MY_KEY: 'a:b', REPLICATE_API_TOKEN: 'r8' }).keys()]).toEqual(['mine', 'replicate']);
});

it('fal and Replicate implement every operation that their models are listed for', () => {
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
      expect(PROVIDER_KINDS.get(kind)?.serves, `${kind} ${model}`).toContain(model);
      expect(providers.get(kind)?.[operation], `${kind} ${operation}`).toBeTypeOf('function');
    }
  }
});
