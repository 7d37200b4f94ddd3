/** Descriptions of the catalogue routes. */
import { z } from 'zod';
import { answersWith, FIELD, type RouteDescription } from '../http/describe.ts';
import { characterAnswer, charactersAnswer, modelEntry, modelsAnswer, namesAnswer, reviewsAnswer } from './schema.ts';

const slug = z.object({ slug: z.string().meta({ description: 'Of a character, or its id.' }) });

const OPEN_SETTING = '`catalogue.openWithoutKey: true` opens it to callers without a key.';

function cached(schema: z.ZodType): RouteDescription['answers'] {
  return {
    200: {
      means: 'OK',
      bodies: [{ schema }],
      headers: { ETag: 'Of these bytes; send it back as `If-None-Match`.' },
    },
    304: { means: 'What `If-None-Match` names is still right.', bodies: [] },
  };
}

const A_CHARACTER = [
  FIELD,
  `SLUG=$(curl -sS "$FAREBOX_URL/characters?limit=1" -H "Authorization: Bearer $FAREBOX_API_KEY" | field slug)`,
];

type CatalogueRoute = 'models' | 'model' | 'traits' | 'compatibility' | 'characters' | 'character' | 'reviews';

export const CATALOGUE_DESCRIPTIONS: Record<CatalogueRoute, RouteDescription> = {
  models: {
    group: 'Catalogue',
    operationId: 'listModels',
    summary: 'Models with their prices, limits and abilities',
    description:
      'A model is `offline` without a price, without its provider, or if no provider is known to serve it. ' +
      OPEN_SETTING,
    answers: cached(modelsAnswer),
    example: { query: { type: 'music' } },
  },
  model: {
    group: 'Catalogue',
    operationId: 'showModel',
    summary: 'One model of that list',
    description:
      'By its id, or by a name that a request may send as `model`: a trait or a name of another service, of text models ' +
      `first. The \`id\` of the answer is that of the model. Slashes in an id may be sent as they are or as \`%2F\`. ${OPEN_SETTING}`,
    params: z.object({ model: z.string().meta({ description: 'An id, or another name of a model.' }) }),
    answers: cached(modelEntry),
    errors: ['model_not_found'],
    example: { params: { model: 'simulator-text' } },
  },
  traits: {
    group: 'Catalogue',
    operationId: 'listModelTraits',
    summary: 'Traits, and the model that each stands for',
    description:
      'A trait can be sent wherever a `model` of this type is asked for. While its model is offline, it stands for another ' +
      `one that suits. ${OPEN_SETTING}`,
    answers: cached(namesAnswer),
    example: { query: { type: 'text' } },
  },
  compatibility: {
    group: 'Catalogue',
    operationId: 'listModelNames',
    summary: 'Names of other services, and the model that each stands for',
    description: `Such a name can be sent wherever a \`model\` of this type is asked for. ${OPEN_SETTING}`,
    answers: cached(namesAnswer),
    example: { query: { type: 'text' } },
  },
  characters: {
    group: 'Catalogue',
    operationId: 'listCharacters',
    summary: 'Characters, searched and sorted',
    description: '`search` takes words and `#tags`. Lists are given by repeating the parameter or by commas.',
    stage: 'experimental',
    answers: answersWith(charactersAnswer),
    example: { query: { limit: '5', sortBy: 'imports' } },
  },
  character: {
    group: 'Catalogue',
    operationId: 'showCharacter',
    summary: 'One character',
    stage: 'experimental',
    params: slug,
    answers: answersWith(characterAnswer),
    errors: ['character_not_found'],
    example: { before: A_CHARACTER, params: { slug: '$SLUG' } },
  },
  reviews: {
    group: 'Catalogue',
    operationId: 'listCharacterReviews',
    summary: 'Reviews of a character',
    description: 'No review is collected in this release: the list is empty.',
    stage: 'experimental',
    params: slug,
    answers: answersWith(reviewsAnswer),
    errors: ['character_not_found'],
    example: { before: A_CHARACTER, params: { slug: '$SLUG' } },
  },
};
