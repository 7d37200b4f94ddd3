/** Query of GET /characters (MODEL-12). */
import { z } from 'zod';
import { CHARACTER_SORTS, type CharacterSearch } from '../../infra/postgres/characters.ts';
import { asBoolean, asInteger, asList } from '../http/parameterSchema.ts';

/** Postgres accepts every text without NUL. */
const text = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine((value) => !value.includes('\u0000'), 'Must not contain a NUL character');

const MAX_ITEMS = 20;

/** Several values, by repeated parameters, commas, or both; empty values do not count. */
function list(longestItem: number) {
  const split = (given: string | string[] | undefined) =>
    [given ?? []]
      .flat()
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== '');
  return z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform(split)
    .pipe(z.array(text(longestItem)).max(MAX_ITEMS))
    .meta(asList());
}

const flag = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .optional()
  .meta(asBoolean());

const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'Must be a whole number')
  .transform(Number);

export const charactersQuery = z.strictObject({
  categories: list(100),
  tags: list(100),
  modelId: list(200),
  search: text(200).optional(),
  isAdult: flag,
  isPro: flag,
  isWebEnabled: flag,
  limit: whole
    .pipe(z.int().min(1).max(100))
    .default(50)
    .meta(asInteger({ minimum: 1, maximum: 100, default: 50 })),
  /** Nullable in the published schema: an empty value is null. */
  offset: z
    .literal('')
    .transform(() => 0)
    .or(whole)
    .default(0)
    .meta(asInteger({ minimum: 0, default: 0 })),
  sortBy: z.enum(CHARACTER_SORTS).optional(),
  sortOrder: z.enum(['asc', 'desc']).default('desc'),
});

/** Adult characters are listed only on request, and then without others. The order needs a mode. */
export function toCharacterSearch(query: z.output<typeof charactersQuery>): CharacterSearch {
  return {
    categories: query.categories,
    tags: query.tags,
    modelIds: query.modelId,
    adult: query.isAdult ?? false,
    ...(query.isPro === undefined ? {} : { pro: query.isPro }),
    ...(query.isWebEnabled === undefined ? {} : { webEnabled: query.isWebEnabled }),
    ...(query.search === undefined ? {} : { search: query.search }),
    sort: query.sortBy ?? 'imports',
    descending: query.sortBy === undefined || query.sortOrder === 'desc',
    limit: query.limit,
    offset: query.offset,
  };
}
