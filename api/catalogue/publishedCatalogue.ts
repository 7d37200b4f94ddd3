/** Answers of the catalogue routes, prepared once (bench `models`): they change with the configuration only (MODEL-6). */
import { MODEL_TYPES, type Model } from '../../domain/catalogue/model.ts';
import { presentModel } from '../../domain/catalogue/presentModel.ts';
import { isOffline } from '../../domain/modelAccess.ts';
import type { Config } from '../../infra/config/config.ts';
import { etagOf } from '../http/etag.ts';

/** The ten types, `all`, and `code`: text models for programming. */
export const LISTED_TYPES = [...MODEL_TYPES, 'all', 'code'] as const;
type ListedType = (typeof LISTED_TYPES)[number];

export interface CatalogueBody {
  bytes: Buffer;
  etag: string;
}

export interface PublishedCatalogue {
  models(type: ListedType): CatalogueBody;
  /** One entry of that list. */
  model(model: Model): CatalogueBody;
  traits(type: ListedType): CatalogueBody;
  compatibility(type: ListedType): CatalogueBody;
}

export function publishCatalogue(config: Config): PublishedCatalogue {
  const { models, traits, compatibility } = config.modelCatalogue;
  const entries = models.map((model) => ({ model, shown: show(config, model) }));
  const listings = prepareEach((type) => entries.filter(({ model }) => isOf(model, type)).map((entry) => entry.shown));
  const traitLists = prepareEach((type) => Object.fromEntries(isModelType(type) ? traits[type] : []));
  const names = prepareEach((type) => Object.fromEntries(isModelType(type) ? compatibility[type] : []));
  return {
    models: (type) => listings[type],
    model: (model) => prepare(show(config, model)),
    traits: (type) => traitLists[type],
    compatibility: (type) => names[type],
  };
}

function show(config: Config, model: Model) {
  const choices = config.modelCatalogue.traits[model.type];
  return presentModel({
    model,
    ownedBy: config.brand.name,
    offline: isOffline(model, config),
    traits: [...choices].flatMap(([trait, id]) => (id === model.id ? [trait] : [])),
    providers: config.providers,
  });
}

function isModelType(type: ListedType): type is Exclude<ListedType, 'all' | 'code'> {
  return type !== 'all' && type !== 'code';
}

function isOf(model: Model, type: ListedType): boolean {
  if (type === 'code') return model.kind === 'text' && model.spec.capabilities?.optimizedForCode === true;
  return type === 'all' || model.type === type;
}

function prepareEach(dataOf: (type: ListedType) => unknown): Record<ListedType, CatalogueBody> {
  const prepared = LISTED_TYPES.map((type) => [type, prepare({ object: 'list', type, data: dataOf(type) })]);
  return Object.fromEntries(prepared) as Record<ListedType, CatalogueBody>;
}

function prepare(body: unknown): CatalogueBody {
  const bytes = Buffer.from(JSON.stringify(body));
  return { bytes, etag: etagOf(bytes) };
}
