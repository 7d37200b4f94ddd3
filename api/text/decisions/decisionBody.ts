/** Body of POST /decisions (TEXT-28). */
import { z } from 'zod';

const json = z.record(z.string(), z.unknown());
const words = z.union([z.string().min(1), json, z.array(z.unknown()).min(1)], {
  error: 'A text, an object or a list; neither a text nor a list may be empty',
});

const noul = z.strictObject({
  type: z.literal('noul'),
  instructions: words,
  /** Other keys are dropped. */
  criteria: z.object({ true: z.string().exactOptional(), false: z.string().exactOptional() }).exactOptional(),
});
const choice = z.strictObject({
  type: z.literal('choice'),
  instructions: words,
  criteria: z
    .record(z.string(), z.string().nullable())
    .refine((options) => Object.keys(options).length > 0, { error: 'At least one option is required' }),
});
const score = z.strictObject({
  type: z.literal('score'),
  instructions: words,
  criteria: z.array(z.string()).min(2),
});

export const decisionBody = z.strictObject({
  model: z.string().min(1),
  state: words,
  questions: z
    .record(z.string(), z.discriminatedUnion('type', [noul, choice, score]))
    .refine((questions) => Object.keys(questions).length > 0, { error: 'At least one question is required' }),
});
export type DecisionBody = z.output<typeof decisionBody>;
