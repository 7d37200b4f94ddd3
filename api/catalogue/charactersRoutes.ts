/** GET /characters, /characters/{slug} and its reviews (MODEL-11, MODEL-12). */
import { z } from 'zod';
import { FareboxError } from '../../domain/errors.ts';
import { findCharacter, type ListedCharacter, searchCharacters } from '../../infra/postgres/characters.ts';
import type { Dependencies } from '../dependencies.ts';
import { json } from '../http/answer.ts';
import { asInteger } from '../http/parameterSchema.ts';
import { defineRoute } from '../http/route.ts';
import { charactersQuery, toCharacterSearch } from './charactersQuery.ts';
import { CATALOGUE_DESCRIPTIONS } from './openapi.ts';

export const charactersRoute = defineRoute({
  method: 'GET',
  path: '/characters',
  access: 'key',
  query: charactersQuery,
  describes: CATALOGUE_DESCRIPTIONS.characters,
  async handler({ core: { sql, charactersLoaded } }, { query }) {
    await charactersLoaded();
    const characters = await searchCharacters(sql, toCharacterSearch(query));
    return json({ object: 'list', data: characters.map(presentCharacter) });
  },
});

export const characterRoute = defineRoute({
  method: 'GET',
  path: '/characters/{slug}',
  access: 'key',
  describes: CATALOGUE_DESCRIPTIONS.character,
  async handler(dependencies, { params }) {
    const character = await requireCharacter(dependencies, params.slug ?? '');
    return json({ object: 'character', data: presentCharacter(character) });
  },
});

const positive = z
  .string()
  .regex(/^\d{1,9}$/, 'Must be a whole number')
  .transform(Number);

const reviewsQuery = z.strictObject({
  page: positive
    .pipe(z.int().min(1))
    .default(1)
    .meta(asInteger({ minimum: 1, default: 1 })),
  pageSize: positive
    .pipe(z.int().min(1).max(100))
    .default(20)
    .meta(asInteger({ minimum: 1, maximum: 100, default: 20 })),
});

/** This release collects no reviews: the list is empty on every page. */
export const reviewsRoute = defineRoute({
  method: 'GET',
  path: '/characters/{slug}/reviews',
  access: 'key',
  query: reviewsQuery,
  describes: CATALOGUE_DESCRIPTIONS.reviews,
  async handler(dependencies, { params, query }) {
    await requireCharacter(dependencies, params.slug ?? '');
    const pagination = { ...query, total: 0, totalPages: 0 };
    const headers = {
      'x-pagination-limit': String(pagination.pageSize),
      'x-pagination-page': String(pagination.page),
      'x-pagination-total': String(pagination.total),
      'x-pagination-total-pages': String(pagination.totalPages),
    };
    const summary = { averageRating: 0, totalReviews: 0 };
    return json({ object: 'list', data: [], pagination, summary }, { headers });
  },
});

/** Characters of a slug or an id; other texts are not looked up. */
const NAME = /^[A-Za-z0-9-]{1,100}$/;

async function requireCharacter(
  { core: { sql, charactersLoaded } }: Dependencies,
  name: string,
): Promise<ListedCharacter> {
  await charactersLoaded();
  const character = NAME.test(name) ? await findCharacter(sql, name) : undefined;
  if (character) return character;
  throw new FareboxError({ code: 'character_not_found', message: 'Character not found' });
}

/** `userRating` is the caller's own rating; there are none. */
function presentCharacter({ imports, ratingCount, ratingSum, ...character }: ListedCharacter) {
  const averageRating = ratingCount === 0 ? 0 : ratingSum / ratingCount;
  return { ...character, stats: { averageRating, imports, ratingCount, ratingSum, userRating: null } };
}
