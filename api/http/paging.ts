/** Query and cursor of all paged lists. */

import { z } from 'zod';
import { invalid } from './invalid.ts';
import { asInteger } from './parameterSchema.ts';

/** `limit` of a query: 1 to 100, 20 when left out. */
export const pageLimit = z
  .string()
  .regex(/^\d{1,3}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(100))
  .default(20)
  .meta(asInteger({ minimum: 1, maximum: 100, default: 20 }));

export const INVALID_CURSOR = 'Invalid or expired cursor; restart from the first page';

/** For an invalid cursor: throws FareboxError `invalid_request`. */
export function refuseCursor(): never {
  throw invalid('cursor', INVALID_CURSOR);
}
