/**
 * Whether a model may be called: its provider is there, and the key's privacy setting (ACCOUNT-1) and scope allow it.
 */
import type { Caller, ModelPrivacy } from './caller.ts';
import type { Model, ModelKind, ModelType } from './catalogue/model.ts';
import type { LocalSettings, ProviderKind, ProviderSettings } from './providerSettings.ts';
import { addressesOf, keyVariableOf } from './textAddresses.ts';

/** What each kind of provider can be asked for. What no row names is in the catalogue, and offline. */
const SERVED_KINDS: Record<ProviderKind, readonly ModelKind[]> = {
  local: ['voice-changer', 'music', 'video', 'embedding', 'image', 'inpaint', 'upscale', 'asr', 'tts'],
  simulator: ['voice-changer', 'music', 'video', 'text', 'decision', 'image'],
  elevenlabs: ['voice-changer', 'music', 'asr', 'tts'],
  openai: ['text', 'embedding', 'decision', 'image', 'inpaint', 'asr', 'tts'],
  anthropic: ['text', 'decision'],
  fal: ['music', 'video', 'image', 'inpaint', 'upscale', 'asr', 'tts'],
  replicate: ['music', 'video', 'image', 'inpaint', 'upscale', 'asr', 'tts'],
};

export function serves(provider: ProviderKind, kind: ModelKind): boolean {
  return SERVED_KINDS[provider].includes(kind);
}

/** The kinds of provider that can be asked for such a model. */
export function providersOf(kind: ModelKind): ProviderKind[] {
  return (Object.keys(SERVED_KINDS) as ProviderKind[]).filter((provider) => serves(provider, kind));
}

/**
 * Why the model cannot be called with this configuration, in words that complete "the model is offline: …"; undefined
 * when it can. `hasSecret` answers for the name of an environment variable.
 */
export function offlineReason(
  model: Model,
  providers: Readonly<Record<string, ProviderSettings>>,
  hasSecret: (name: string) => boolean,
): string | undefined {
  if (model.listing?.offline === true) return 'it was taken offline';
  if (!isPriced(model)) return 'it has no price';
  const settings = Object.hasOwn(providers, model.provider) ? providers[model.provider] : undefined;
  const missing = `its provider "${model.provider}" is not configured`;
  if (settings === undefined) return missing;
  if (!serves(settings.kind, model.kind)) return 'this release does not serve such models';
  if (settings.kind === 'local') return missingProgram(model.kind, settings);
  return hasKey(settings, hasSecret) ? undefined : missing;
}

const NO_SPEECH = 'no speech synthesiser was found; install espeak-ng and set ESPEAK_PATH';
const NO_HEARING =
  'no speech recogniser was found; install pocketsphinx and pocketsphinx-en-us and set POCKETSPHINX_PATH';

function missingProgram(kind: ModelKind, { speaks, hears }: LocalSettings): string | undefined {
  if ((kind === 'music' || kind === 'tts') && speaks !== true) return NO_SPEECH;
  return kind === 'asr' && hears !== true ? NO_HEARING : undefined;
}

/** A text entry needs the key of one of its addresses. */
function hasKey(settings: ProviderSettings, hasSecret: (name: string) => boolean): boolean {
  switch (settings.kind) {
    case 'elevenlabs':
      return hasSecret(settings.apiKeyEnv ?? 'ELEVENLABS_API_KEY');
    case 'replicate':
      return hasSecret(settings.apiKeyEnv ?? 'REPLICATE_API_TOKEN');
    case 'fal':
      return hasSecret(settings.apiKeyEnv ?? 'FAL_KEY');
    case 'openai':
    case 'anthropic':
      return addressesOf(settings).some((address) => {
        const variable = keyVariableOf(settings, address);
        return variable === undefined || hasSecret(variable);
      });
    default:
      return true;
  }
}

export function isOffline(...asked: Parameters<typeof offlineReason>): boolean {
  return offlineReason(...asked) !== undefined;
}

/** Some published ids come without a price: they are sold only once a configuration gives one. */
function isPriced(model: Model): boolean {
  if (model.kind === 'video') return model.price !== undefined;
  return model.kind !== 'inpaint' || model.spec.pricing !== undefined;
}

const TEXT_TYPES: readonly ModelType[] = ['text', 'embedding', 'decision'];

/** PRIVATE_TEXT binds text, embedding and decision models; PRIVATE_ONLY binds all. */
export function isAllowed(model: Model, policy: ModelPrivacy): boolean {
  if (model.privacy === 'private' || policy === 'ALL') return true;
  return policy === 'PRIVATE_TEXT' && !TEXT_TYPES.includes(model.type);
}

/** A key may be made for some models only. `models` are ids of the catalogue; null is no such bound. */
export function isInScope(model: Model, models: readonly string[] | null): boolean {
  return models === null || models.includes(model.id);
}

/** For the client, why its key may not call this model; undefined when it may. */
export function whyForbidden(
  model: Model,
  { modelPrivacy, models }: Pick<Caller, 'modelPrivacy' | 'models'>,
): string | undefined {
  if (!isInScope(model, models)) {
    return `This API key may not call the model ${model.id}: it was made for other models only`;
  }
  if (isAllowed(model, modelPrivacy)) return undefined;
  return `This API key's modelPrivacy setting (${modelPrivacy}) does not allow the model ${model.id}`;
}
