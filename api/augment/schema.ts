/** Bodies and answers of the augment routes (TEXT-30). */
import { z } from 'zod';

export const scrapeBody = z.strictObject({ url: z.string().min(1).max(8_192) });
export const scrapeAnswer = z.strictObject({
  url: z.string(),
  content: z.string(),
  format: z.literal('markdown'),
});

const SEARCH_ENGINES = ['brave', 'google'] as const;
export const searchBody = z.strictObject({
  query: z.string().min(1).max(400),
  limit: z.int().min(1).max(20).default(10),
  search_provider: z.enum(SEARCH_ENGINES).default('brave'),
});
export const searchAnswer = z.strictObject({
  query: z.string(),
  results: z.array(z.strictObject({ title: z.string(), url: z.string(), content: z.string(), date: z.string() })),
});

export const parserFields = z.strictObject({ response_format: z.enum(['json', 'text']).default('json') });
export const parserAnswer = z.strictObject({ text: z.string(), tokens: z.int().min(0) });
