/** Characters in Postgres: loaded from the file when it has changed, and searched there (MODEL-12, MODEL-13). */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Character } from '../../domain/catalogue/character.ts';
import { inTransaction, type SqlClient } from './pool.ts';

/** Public part of a character, without its prompt. */
export type ListedCharacter = Omit<Character, 'systemPrompt' | 'pro' | 'categories'>;

export const CHARACTER_SORTS = [
  'featured',
  'highestRating',
  'highlyRated',
  'highlyRatedAndRecent',
  'imports',
  'mostRecent',
  'ratingCount',
] as const;
type CharacterSort = (typeof CHARACTER_SORTS)[number];

export interface CharacterSearch {
  /** A character must match any value of each list; letter case does not count. Empty: no filter. */
  categories: readonly string[];
  tags: readonly string[];
  modelIds: readonly string[];
  adult: boolean;
  pro?: boolean;
  webEnabled?: boolean;
  /** Words, and `#tag` for whole tags. */
  search?: string;
  sort: CharacterSort;
  descending: boolean;
  limit: number;
  offset: number;
}

/** Loads the list into the table, unless an equal list was loaded. Any number of processes may call it at once. */
export async function loadCharacters(pool: pg.Pool, characters: readonly Character[]): Promise<boolean> {
  const rows = JSON.stringify(characters.map(toRow));
  const digest = createHash('sha256').update(rows).digest('hex');
  if ((await storedDigest(pool)) === digest) return false;
  return await inTransaction(pool, async (client) => {
    // One process at a time; the second finds the work done.
    await client.query(`select pg_advisory_xact_lock(hashtext('farebox characters'))`);
    if ((await storedDigest(client)) === digest) return false;
    await client.query('delete from characters');
    await client.query(
      `insert into characters (${Object.values(COLUMNS).join(', ')}, search_text)
       select ${Object.values(COLUMNS).join(', ')}, search_text from jsonb_to_recordset($1::jsonb) as row (${ROW_TYPES})`,
      [rows],
    );
    await client.query(
      `insert into characters_source (digest) values ($1) on conflict (only_row) do update set digest = $1`,
      [digest],
    );
    return true;
  });
}

async function storedDigest(sql: SqlClient): Promise<string | undefined> {
  const { rows } = await sql.query<{ digest: string }>('select digest from characters_source');
  return rows[0]?.digest;
}

const COLUMNS = {
  slug: 'slug',
  id: 'id',
  name: 'name',
  description: 'description',
  author: 'author',
  adult: 'adult',
  featured: 'featured',
  pro: 'pro',
  webEnabled: 'web_enabled',
  modelId: 'model_id',
  tags: 'tags',
  categories: 'categories',
  shareUrl: 'share_url',
  photoUrl: 'photo_url',
  systemPrompt: 'system_prompt',
  imports: 'imports',
  ratingCount: 'rating_count',
  ratingSum: 'rating_sum',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const satisfies Record<keyof Character, string>;

const ROW_TYPES = `slug text, id uuid, name text, description text, author text, adult boolean, featured boolean,
  pro boolean, web_enabled boolean, model_id text, tags text[], categories text[], share_url text, photo_url text,
  system_prompt text, imports bigint, rating_count bigint, rating_sum bigint, created_at timestamptz,
  updated_at timestamptz, search_text text`;

function toRow(character: Character): Record<string, unknown> {
  const columns = Object.entries(COLUMNS).map(([member, column]) => [column, character[member as keyof Character]]);
  const searched = [character.name, character.description ?? '', ...character.tags].join('\n');
  return { ...Object.fromEntries(columns), search_text: searched };
}

const LISTED = `slug, id, name, description, author, adult, featured, web_enabled as "webEnabled",
  model_id as "modelId", tags, share_url as "shareUrl", photo_url as "photoUrl", imports::float8 as imports,
  rating_count::float8 as "ratingCount", rating_sum::float8 as "ratingSum",
  to_char(created_at, '${'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'}') as "createdAt",
  to_char(updated_at, '${'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'}') as "updatedAt"`;

const AVERAGE = 'case when rating_count = 0 then 0 else rating_sum::float8 / rating_count end';

/** Sort keys of each mode, with the characters that it excludes. */
const SORTS: Record<CharacterSort, { by: string; only?: string }> = {
  featured: { by: 'imports', only: 'featured' },
  highestRating: { by: AVERAGE },
  highlyRated: { by: AVERAGE, only: 'rating_count >= 2' },
  highlyRatedAndRecent: { by: 'created_at', only: `rating_count >= 1 and ${AVERAGE} >= 3` },
  imports: { by: 'imports' },
  mostRecent: { by: 'created_at' },
  ratingCount: { by: 'rating_count' },
};

/** One page; equal ones are in the order of their slugs. */
export async function searchCharacters(sql: SqlClient, search: CharacterSearch): Promise<ListedCharacter[]> {
  const values: unknown[] = [search.limit, search.offset];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const sort = SORTS[search.sort];
  const conditions = [...filters(search, bind), ...wordConditions(search.search ?? '', bind)];
  if (sort.only !== undefined) conditions.push(sort.only);
  const { rows } = await sql.query<ListedCharacter>(
    `select ${LISTED} from characters where ${conditions.join(' and ')}
     order by ${sort.by} ${search.descending ? 'desc' : 'asc'}, slug limit $1 offset $2`,
    values,
  );
  return rows;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** By slug or by id; undefined when there is none. */
export async function findCharacter(sql: SqlClient, name: string): Promise<ListedCharacter | undefined> {
  const { rows } = await sql.query<ListedCharacter>(`select ${LISTED} from characters where slug = $1 or id = $2`, [
    name,
    UUID.test(name) ? name : null,
  ]);
  return rows[0];
}

type BindValue = (value: unknown) => string;

function filters(search: CharacterSearch, bind: BindValue): string[] {
  const conditions = [`adult = ${bind(search.adult)}`];
  if (search.pro !== undefined) conditions.push(`pro = ${bind(search.pro)}`);
  if (search.webEnabled !== undefined) conditions.push(`web_enabled = ${bind(search.webEnabled)}`);
  if (search.modelIds.length > 0) conditions.push(`model_id = any(${bind(search.modelIds)})`);
  if (search.tags.length > 0) conditions.push(anyOf('tags', search.tags, bind));
  if (search.categories.length > 0) conditions.push(anyOf('categories', search.categories, bind));
  return conditions;
}

function anyOf(column: 'tags' | 'categories', labels: readonly string[], bind: BindValue): string {
  const wanted = bind(labels.map((label) => label.toLowerCase()));
  return `exists (select 1 from unnest(${column}) as label where lower(label) = any(${wanted}))`;
}

/** Only letters, digits and spaces, which full-text search takes word by word without dropping any. */
const PLAIN_WORDS = /^[\p{L}\p{N}\s]+$/u;

/**
 * Hashtags match whole tags. Other text matches anywhere in name, description and tags; plain words also in any order
 * and place. There are no patterns.
 */
function wordConditions(text: string, bind: BindValue): string[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const hashtags = words.filter((word) => /^#[^#]/.test(word));
  const rest = words.filter((word) => !hashtags.includes(word)).join(' ');
  const conditions = hashtags.map((hashtag) => anyOf('tags', [hashtag.slice(1)], bind));
  if (rest === '') return conditions;
  const literal = `search_text ilike ${bind(`%${rest.replace(/[\\%_]/g, '\\$&')}%`)}`;
  const query = PLAIN_WORDS.test(rest) ? `search_words @@ plainto_tsquery('simple', ${bind(rest)})` : undefined;
  return [...conditions, query === undefined ? literal : `(${query} or ${literal})`];
}
