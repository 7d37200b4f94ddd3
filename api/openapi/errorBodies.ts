/** The bodies of errors as schemas (specification 7, api-facts 7.1 and 10.3). */
import { z } from 'zod';
import type { BodyShape } from '../errors.ts';

const error = z.string().meta({ description: 'Words for people.' });

const plain = z.strictObject({ error }).meta({ id: 'Error' });

const issue = z.looseObject({
  code: z.string(),
  path: z.array(z.union([z.string(), z.number()])),
  message: z.string(),
});

const validation = z
  .strictObject({
    error,
    details: z
      .looseObject({ _errors: z.array(z.string()) })
      .optional()
      .meta({ description: 'A tree of the fields; each has its findings in `_errors`.' }),
    issues: z.array(issue).optional(),
  })
  .meta({ id: 'ValidationError' });

const coded = z.strictObject({ code: z.string(), error }).meta({ id: 'CodedError' });

const limited = z
  .strictObject({ error, customMessage: z.string().meta({ description: 'Names the cap.' }) })
  .meta({ id: 'RateLimitError' });

const typed = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.literal('invalid_request_error'),
      param: z.literal('messages'),
      code: z.string(),
    }),
  })
  .meta({ id: 'TypedError' });

/** A request without a credential is told what it could pay and sign in with. */
export const discoveryBody = z
  .looseObject({
    x402Version: z.literal(2),
    error,
    resource: z.strictObject({ url: z.string(), description: z.string(), mimeType: z.string() }),
    accepts: z.array(z.looseObject({})),
    extensions: z.looseObject({}),
    authOptions: z.looseObject({}),
  })
  .meta({ id: 'PaymentRequired' });

export const ERROR_BODIES: Record<BodyShape, z.ZodType> = { plain, validation, coded, limited, typed };
