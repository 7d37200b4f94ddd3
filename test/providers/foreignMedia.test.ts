import type { EndpointTypeMap } from '@fal-ai/client/endpoints';
import { expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
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

/** The compiler checks these against the endpoint types of the service's own client. */
const ENDPOINTS: Readonly<Record<string, keyof EndpointTypeMap>> = {
  'z-image-turbo': 'fal-ai/z-image/turbo',
  'qwen-image': 'fal-ai/qwen-image',
  'nano-banana-2': 'fal-ai/nano-banana-2',
  'nano-banana-pro': 'fal-ai/nano-banana-pro',
  'flux-2-pro': 'fal-ai/flux-2-pro',
  'bria-bg-remover': 'fal-ai/bria/background/remove',
  upscaler: 'fal-ai/clarity-upscaler',
  'flux-2-max-edit': 'fal-ai/flux-2-max/edit',
  'nano-banana-2-edit': 'fal-ai/nano-banana-2/edit',
  'nano-banana-pro-edit': 'fal-ai/nano-banana-pro/edit',
  'qwen-image-2-edit': 'fal-ai/qwen-image-2/edit',
  'qwen-image-2-pro-edit': 'fal-ai/qwen-image-2/pro/edit',
  'seedream-v4-edit': 'fal-ai/bytedance/seedream/v4/edit',
  'seedream-v5-lite-edit': 'fal-ai/bytedance/seedream/v5/lite/edit',
  'fal-ai/wizper': 'fal-ai/wizper',
  'tts-chatterbox-hd': 'resemble-ai/chatterboxhd/text-to-speech',
  'tts-minimax-speech-02-hd': 'fal-ai/minimax/speech-02-hd',
  'tts-orpheus': 'fal-ai/orpheus-tts',
};

it('sends the built-in fal models to endpoints that exist, without any configuration', () => {
  const kinds = ['image', 'inpaint', 'upscale', 'asr', 'tts'];
  const found = BUILT_IN_MODELS.filter(
    ({ provider, kind, upstreamModel }) => provider === 'fal' && kinds.includes(kind) && upstreamModel.includes('/'),
  );
  expect(Object.fromEntries(found.map(({ id, upstreamModel }) => [id, upstreamModel]))).toEqual(ENDPOINTS);
});
