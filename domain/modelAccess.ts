/** Whether a model may be called: its provider is there, and the key's privacy setting (specification 2.3) and scope allow it. */
import type { ModelPrivacy } from './caller.ts';
import type { Model } from './catalogue/model.ts';
import type { ProviderSettings } from './providerSettings.ts';

/**
 * True when the model's provider cannot be called with this configuration. `hasSecret` answers for the name of an
 * environment variable.
 */
export function isOffline(
  model: Model,
  providers: Readonly<Record<string, ProviderSettings>>,
  hasSecret: (name: string) => boolean,
): boolean {
  const settings = providers[model.provider];
  switch (settings?.kind) {
    case 'local':
    case 'simulator':
      return false;
    case 'elevenlabs':
      return !hasSecret(settings.apiKeyEnv ?? 'ELEVENLABS_API_KEY');
    default:
      return true;
  }
}

/** PRIVATE_TEXT binds text and embedding models only; PRIVATE_ONLY binds all. */
export function isAllowed(model: Model, policy: ModelPrivacy): boolean {
  return policy !== 'PRIVATE_ONLY' || model.privacy === 'private';
}

/** A key may be made for some models only. `models` are ids of the catalogue; null is no such bound. */
export function isInScope(model: Model, models: readonly string[] | null): boolean {
  return models === null || models.includes(model.id);
}
