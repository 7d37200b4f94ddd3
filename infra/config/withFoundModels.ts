/** Adds models that were found at the start; those of the configuration have precedence. */
import { type Catalogue, createCatalogue } from '../../domain/catalogue/catalogue.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import { modelNamed } from '../../domain/catalogue/resolveModel.ts';
import type { Config } from './config.ts';
import { modelId } from './schema/primitives.ts';

export interface FoundModelsResult {
  config: Config;
  /** Added models. */
  added: readonly Model[];
}

const LATEST = ':latest';

/**
 * Adds a found model under its own name, if that is a valid id and not yet a name in the catalogue (id, alias, trait or
 * another spelling). `llama3.2:latest` is also added as `llama3.2`.
 */
export function withFoundModels(config: Config, found: readonly Model[]): FoundModelsResult {
  const { modelCatalogue: known } = config;
  const added = found
    .filter(({ id, type }) => modelId.safeParse(id).success && isFree(known, id, type))
    .map((model) => withShortName(known, model));
  if (added.length === 0) return { config, added };
  const modelCatalogue = createCatalogue([...config.models, ...added], config);
  return { config: { ...config, models: modelCatalogue.models, modelCatalogue }, added };
}

function isFree(catalogue: Catalogue, name: string, type: Model['type']): boolean {
  // The time is before all removals: names of removed models stay reserved.
  return modelNamed(catalogue, { name, type, now: '' }) === undefined;
}

function withShortName(known: Catalogue, model: Model): Model {
  const short = model.id.slice(0, -LATEST.length);
  if (!model.id.endsWith(LATEST) || short === '' || !isFree(known, short, model.type)) return model;
  return { ...model, aliases: [short] };
}
