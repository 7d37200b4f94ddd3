/** The characters file: a JSON list. Only slug, name, model and prompt are required. */
import { z } from 'zod';
import { count, modelId, strictObject, text } from './primitives.ts';

const slug = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$/, 'a slug of 1 to 100 lower-case letters, digits and "-"');

/** Postgres keeps every text but one with a NUL in it. */
const words = (longest: number) =>
  text(longest).refine((value) => !value.includes('\u0000'), 'text without a NUL character');

const label = words(100).refine(
  (value) => !/[,#]/.test(value) && value.trim() === value,
  'a word or phrase without ",", "#" or spaces around it',
);
const labels = z.array(label).max(20).default([]);

const url = z
  .string()
  .max(2048)
  .refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol), 'an http or https URL')
  .exactOptional();

const time = z.iso.datetime({ error: 'a UTC time such as "2026-01-31T09:30:00Z"' }).exactOptional();

const MAX_COUNT = 1_000_000_000;

const character = strictObject({
  id: z.uuid({ error: 'a UUID' }).exactOptional(),
  slug,
  name: words(200),
  description: words(4000).exactOptional(),
  author: z
    .string()
    .regex(/^[A-Za-z0-9]{5}$/, 'five letters or digits')
    .default('staff'),
  adult: z.boolean().default(false),
  featured: z.boolean().default(false),
  pro: z.boolean().default(false),
  webEnabled: z.boolean().default(false),
  modelId,
  tags: labels,
  categories: labels,
  shareUrl: url,
  photoUrl: url,
  systemPrompt: words(100_000),
  stats: strictObject({
    imports: count(0, MAX_COUNT).default(0),
    ratingCount: count(0, MAX_COUNT).default(0),
    ratingSum: count(0, 5 * MAX_COUNT).default(0),
  })
    .refine((stats) => stats.ratingSum >= stats.ratingCount && stats.ratingSum <= 5 * stats.ratingCount, {
      path: ['ratingSum'],
      error: 'the sum of ratingCount ratings from 1 to 5',
    })
    .prefault({}),
  createdAt: time,
  updatedAt: time,
});

export const charactersFile = z.array(character).max(10_000);
export type CharacterEntry = z.output<typeof character>;
