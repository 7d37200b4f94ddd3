/**
 * Whether a model may be called: its provider is configured and known to serve it, and the key's privacy setting
 * (ACCOUNT-1) and scope allow it.
 */
import type { Caller, ModelPrivacy } from './caller.ts';
import type { Model, ModelKind, ModelType } from './catalogue/model.ts';
import {
  addressesOf,
  type ConfiguredProviders,
  findProvider,
  keylessFirst,
  type LocalPrograms,
  type ProviderEntry,
  type ProviderKind,
} from './providerKind.ts';

/** Names of the provider kinds that can serve such a model. */
export function providersOf(kinds: Iterable<ProviderKind>, model: ModelKind): string[] {
  return keylessFirst(kinds).flatMap(({ kind, serves }) => (serves.includes(model) ? [kind] : []));
}

/** Part of the configuration that decides whether a model can be called. */
export interface ModelSurroundings extends ConfiguredProviders, LocalPrograms {
  /** The value of an environment variable; undefined when unset. */
  secret(name: string): string | undefined;
}

/**
 * Reason why the model cannot be called with this configuration, as completion of "the model is offline: …"; undefined
 * when it can.
 */
export function offlineReason(model: Model, config: ModelSurroundings): string | undefined {
  if (model.listing?.offline === true) return 'it was taken offline';
  if (!isPriced(model)) return 'it has no price';
  if (model.upstreamModel === undefined) return UNPLACED;
  const entry = findProvider(config, model.provider);
  const missing = `its provider "${model.provider}" is not configured`;
  if (entry === undefined) return missing;
  if (!entry.kind.serves.includes(model.kind)) return 'this release does not serve such models';
  if (!hasKey(entry, config)) return missing;
  return entry.kind.missingProgram?.(model.kind, config);
}

/** No name at a provider (MODEL-15). */
const UNPLACED = 'no provider is known to serve it; the operator must map it (publishedModels)';

/** One address with its key is enough. */
function hasKey(entry: ProviderEntry, { secret }: Pick<ModelSurroundings, 'secret'>): boolean {
  return addressesOf(entry).some(({ keyVariable }) => keyVariable === undefined || secret(keyVariable) !== undefined);
}

export function isOffline(model: Model, config: ModelSurroundings): boolean {
  return offlineReason(model, config) !== undefined;
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

/** A key may be limited to some models. `models`: ids of the catalogue; null: no limit. */
export function isInScope(model: Model, models: readonly string[] | null): boolean {
  return models === null || models.includes(model.id);
}

/** Message for the client when its key may not call this model; undefined when it may. */
export function forbiddenReason(
  model: Model,
  { modelPrivacy, models }: Pick<Caller, 'modelPrivacy' | 'models'>,
): string | undefined {
  if (!isInScope(model, models)) {
    return `This API key may not call the model ${model.id}: it was made for other models only`;
  }
  if (isAllowed(model, modelPrivacy)) return undefined;
  return `This API key's modelPrivacy setting (${modelPrivacy}) does not allow the model ${model.id}`;
}
