/** GET /models, /models/{model}, /models/traits and /models/compatibility_mapping (MODEL-6, MODEL-17). */
import { z } from 'zod';
import { MODEL_TYPES } from '../../domain/catalogue/model.ts';
import { type Answer, preparedAnswer, withHeaders } from '../http/answer.ts';
import { matchesEtag } from '../http/etag.ts';
import { defineRoute } from '../http/route.ts';
import { requireListedModel } from '../models.ts';
import { CATALOGUE_DESCRIPTIONS } from './openapi.ts';
import { type CatalogueBody, LISTED_TYPES } from './publishedCatalogue.ts';

const listedType = z.strictObject({ type: z.enum(LISTED_TYPES).default('text') });
const modelType = z.strictObject({ type: z.enum(MODEL_TYPES).default('text') });

export const modelsRoute = defineRoute({
  method: 'GET',
  path: '/models',
  access: 'catalogue',
  query: listedType,
  describes: CATALOGUE_DESCRIPTIONS.models,
  async handler({ core: { published } }, { query, headers }) {
    return unlessKnown(published.models(query.type), headers['if-none-match']);
  },
});

export const modelRoute = defineRoute({
  method: 'GET',
  path: '/models/{model}',
  takesRestOfPath: true,
  access: 'catalogue',
  describes: CATALOGUE_DESCRIPTIONS.model,
  async handler({ core: { config, published } }, { params, headers }) {
    const { model, headers: notice } = requireListedModel(config, params.model ?? '');
    return withHeaders(unlessKnown(published.model(model), headers['if-none-match']), notice);
  },
});

export const traitsRoute = defineRoute({
  method: 'GET',
  path: '/models/traits',
  access: 'catalogue',
  query: modelType,
  describes: CATALOGUE_DESCRIPTIONS.traits,
  async handler({ core: { published } }, { query, headers }) {
    return unlessKnown(published.traits(query.type), headers['if-none-match']);
  },
});

export const compatibilityRoute = defineRoute({
  method: 'GET',
  path: '/models/compatibility_mapping',
  access: 'catalogue',
  query: modelType,
  describes: CATALOGUE_DESCRIPTIONS.compatibility,
  async handler({ core: { published } }, { query, headers }) {
    return unlessKnown(published.compatibility(query.type), headers['if-none-match']);
  },
});

/** The bytes, or 304 to a client that has them. Shared caches must not store the models of a key. */
function unlessKnown({ bytes, etag }: CatalogueBody, ifNoneMatch: string | undefined): Answer {
  const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' };
  return matchesEtag(ifNoneMatch, etag)
    ? preparedAnswer(undefined, { status: 304, headers })
    : preparedAnswer(bytes, { headers });
}
