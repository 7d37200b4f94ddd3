/** Words and segments with their times, as services of transcription tell them. */

import type { Span } from './mediaProvider.ts';
import { garbage, isFields } from './textFailures.ts';

/** Seconds from the start; undefined where the service gave none. Throws where it gave what can be no times. */
export function spanIn(entry: unknown): Span | undefined {
  if (!isFields(entry)) throw garbage('a word of another shape');
  const { start, end } = entry;
  if (start === undefined || start === null || end === undefined || end === null) return undefined;
  if (!isTime(start) || !isTime(end)) throw garbage('times that are none');
  // Some services let a word end a little before it starts.
  return { start, end: Math.max(start, end) };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

export function textIn(entry: unknown, field: 'text' | 'word'): string {
  const text = isFields(entry) ? entry[field] : undefined;
  if (typeof text !== 'string') throw garbage('a word of another shape');
  return text;
}
