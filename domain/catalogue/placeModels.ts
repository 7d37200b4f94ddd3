/** Assigns published models to provider entries (MODEL-15). */
import { type ConfiguredProviders, findProvider } from '../providerKind.ts';
import type { Model } from './model.ts';

/**
 * Gives a model its provider entry and its name there. A mapping of the configuration comes before the names that the
 * kind of provider knows. A model without either stays without a name, and so offline.
 */
export function placeModels(models: readonly Model[], configured: ConfiguredProviders): Model[] {
  const mapped = mappedModels(configured);
  return models.map((model) => {
    if (model.upstreamModel !== undefined) return model;
    const place = mapped.get(model.id) ?? knownPlace(model, configured);
    return place === undefined ? model : { ...model, ...place };
  });
}

type Place = Required<Pick<Model, 'provider' | 'upstreamModel'>>;

/** By model id. */
function mappedModels({ providers }: ConfiguredProviders): Map<string, Place> {
  return new Map(
    Object.entries(providers).flatMap(([provider, { publishedModels = {} }]) =>
      Object.entries(publishedModels).map(([id, upstreamModel]) => [id, { provider, upstreamModel }] as const),
    ),
  );
}

/** The entry may be absent: then the model is offline for want of its provider, not of a name. */
function knownPlace({ id, provider }: Model, configured: ConfiguredProviders): Place | undefined {
  const entry = findProvider(configured, provider);
  const kind = entry?.kind ?? configured.providerKinds.get(provider);
  const names = kind?.publishedModels?.(entry?.settings ?? { kind: provider }) ?? {};
  const upstreamModel = Object.hasOwn(names, id) ? names[id] : undefined;
  return upstreamModel === undefined ? undefined : { provider, upstreamModel };
}
