import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { type AddressAccess, mediaAtAddresses, textAtAddresses } from '../shared/serviceAddresses.ts';
import { createOpenAiMedia } from './media/openAiMedia.ts';
import { createOpenAi } from './openai.ts';
import { OPENAI_MODELS } from './publishedModels.ts';
import { type OpenAiSettings, openAiSettings } from './settings.ts';
import { isOpenAi, isOpenAiItself, textFeatures } from './textFeatures.ts';

/** OpenAI and every service with its API. OpenAI's key is sent to OpenAI only. */
export const openai: ProviderDefinition<OpenAiSettings> = {
  kind: 'openai',
  settings: openAiSettings,
  keyVariable: 'OPENAI_API_KEY',
  sendsKeyTo: (baseUrl) => baseUrl === undefined || isOpenAiItself(baseUrl),
  serves: ['text', 'embedding', 'decision', 'image', 'inpaint', 'asr', 'tts'],
  publishedModels: (entry) => (isOpenAi(entry) ? OPENAI_MODELS : {}),
  textFeatures,
  open(entry) {
    const { guardedFetch, settings } = entry;
    const { dialect, xSearch } = settings;
    const at = (access: AddressAccess) => ({ ...access, apiKey: access.apiKey || undefined, dialect });
    return {
      text: () => textAtAddresses(entry, (access) => createOpenAi({ ...at(access), xSearch })),
      media: () => mediaAtAddresses(entry, (access) => createOpenAiMedia({ ...at(access), guardedFetch })),
    };
  },
};
