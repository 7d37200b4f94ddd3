/** Holds what was sent against a route's schema. */
import type { z } from 'zod';
import { FareboxError } from '../domain/errors.ts';

/** The checked value; throws `invalid_request` with the schema's findings as its cause (api/errors.ts shows them). */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new FareboxError({
    code: 'invalid_request',
    message: 'Invalid request parameters',
    cause: result.error,
  });
}

/** Looked at before the schema, with words of its own and no details (api-facts 4). */
export function checkModel(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  const model = Object.hasOwn(body, 'model') ? (body as { model: unknown }).model : undefined;
  if (model === undefined || model === null || model === '') throw modelError('model is required');
  if (typeof model !== 'string') throw modelError('model must be a string');
}

function modelError(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
