/** Aliases (MODEL-10) and removed ids (MODEL-8). */
import type { ModelType } from '../model.ts';

/** Names of other services by the id that answers to them; a row counts only while its id is in the catalogue. */
export const COMPATIBILITY: Partial<Record<ModelType, Readonly<Record<string, string>>>> = {
  text: {
    'gpt-4o': 'llama-3.3-70b',
    'gpt-4.1': 'qwen3-235b-a22b-instruct-2507',
    'claude-3-5-sonnet-20241022': 'llama-3.3-70b',
    'qwen3-235b': 'qwen3-235b-a22b-thinking-2507',
  },
  decision: { 'jev-1-13-0': 'jev-latest', 'typesafe-jev': 'jev-latest' },
  embedding: { 'text-embedding-ada-002': 'text-embedding-bge-m3' },
};

/** Removed ids without a replacement, with their day. */
export const RETIRED: ReadonlyMap<string, string> = new Map([
  ['e2ee-gemma-4-31b', '2026-08-27'],
  ['e2ee-qwen3-6-27b', '2026-08-27'],
]);
