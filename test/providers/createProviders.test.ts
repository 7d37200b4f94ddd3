import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { LOCAL_VOICES } from '../../providers/local/voices.ts';
import type { SimulatorSettings } from '../../providers/simulator/settings.ts';
import { openProviders } from './configured.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'farebox-providers-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const simulator: SimulatorSettings = {
  kind: 'simulator',
  latencyMs: 0,
  outcome: 'done',
  faults: [],
  lookup: true,
  synchronous: false,
  models: {},
};

function providers(entries: Record<string, ProviderSettings>, secrets: Record<string, string> = {}) {
  return openProviders(entries, { secrets, folder: root }).queue();
}

describe('the providers of a configuration', () => {
  it('are opened by entry name: local without a key, a remote service only with its key', () => {
    const entries: Record<string, ProviderSettings> = {
      local: { kind: 'local' },
      elevenlabs: { kind: 'elevenlabs', apiKeyEnv: 'ELEVENLABS_API_KEY' },
      second: { kind: 'elevenlabs', apiKeyEnv: 'SECOND_KEY' },
      replicate: { kind: 'replicate' },
      media: { kind: 'fal' },
      flaky: simulator,
    };
    expect([...providers(entries).keys()]).toEqual(['local', 'flaky']);
    expect([...providers(entries, { ELEVENLABS_API_KEY: '' }).keys()]).toEqual(['local', 'flaky']);
    expect([...providers(entries, { FAL_KEY: 'k' }).keys()]).toEqual(['local', 'media', 'flaky']);
    expect([...providers(entries, { SECOND_KEY: 'k' }).keys()]).toEqual(['local', 'second', 'flaky']);
    const replicate = providers(entries, { REPLICATE_API_TOKEN: 'k' });
    expect([...replicate.keys()]).toEqual(['local', 'replicate', 'flaky']);
  });

  it('exclude kinds that serve no jobs', () => {
    const kinds = ['openai', 'anthropic'] as const;
    for (const kind of kinds) expect(providers({ later: { kind, apiKeyEnv: 'K' } }, { K: 'k' }).size).toBe(0);
  });

  it('are repeatable only where a repetition costs nobody money', () => {
    const all = providers(
      {
        local: { kind: 'local' },
        elevenlabs: { kind: 'elevenlabs' },
        fal: { kind: 'fal' },
        flaky: simulator,
      },
      { ELEVENLABS_API_KEY: 'k', FAL_KEY: 'k' },
    );
    expect([...all].map(([name, provider]) => [name, provider.repeatable])).toEqual([
      ['local', true],
      ['elevenlabs', false],
      ['fal', false],
      ['flaky', false],
    ]);
  });

  it('keep the orders of each simulator entry in its own part of the data folder', async () => {
    const workFolder = await mkdtemp(join(root, 'call-'));
    const flaky = providers({ flaky: simulator, 'od/d': simulator }).get('od/d');
    const context = { workFolder, signal: new AbortController().signal, heartbeat: () => undefined };
    await flaky?.start(
      {
        kind: 'voice-changer',
        reference: 'r',
        upstreamModel: 'm',
        sourcePath: '',
        sourceContentType: 'audio/wav',
        sourceDemuxer: 'wav',
        sourceSeconds: 1,
        voice: 'alto',
        removeBackgroundNoise: false,
      },
      context,
    );
    expect(await readdir(join(root, 'simulator'))).toEqual(['od%2Fd']);
  });
});

it('lists exactly the voices that the local engine has', () => {
  expect(Object.keys(LOCAL_VOICES)).toEqual([...LOCAL_VOICE_CHANGER.voices]);
});
