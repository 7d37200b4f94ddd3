/** Validates requests by the schema of their route. */
import type { z } from 'zod';
import { FareboxError } from '../../domain/errors.ts';

const MAX_FIELDS = 1_000;

/**
 * Returns the parsed value. Throws `invalid_request` with the findings of the schema as its cause (api/http/errors.ts
 * shows them).
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  // No route has so many fields: a finding for each is not worth the time.
  if (isObject(value) && Object.keys(value).length > MAX_FIELDS) {
    throw new FareboxError({ code: 'invalid_request', message: `More than ${MAX_FIELDS} fields.` });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new FareboxError({
    code: 'invalid_request',
    message: 'Invalid request parameters',
    cause: result.error,
  });
}

/** Checks `model` before the schema, with a message of its own and no details (API-2). */
export function checkModel(body: unknown): void {
  if (!isObject(body)) return;
  const model = Object.hasOwn(body, 'model') ? (body as { model: unknown }).model : undefined;
  if (model === undefined || model === null || model === '') throw modelError('model is required');
  if (typeof model !== 'string') throw modelError('model must be a string');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function modelError(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
