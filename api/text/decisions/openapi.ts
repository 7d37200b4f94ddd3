/** Description of POST /decisions, under both of its names. */
import { z } from 'zod';
import type { RouteDescription } from '../../http/describe.ts';
import { ANSWER_HEADERS, DRY_RUN } from '../openapi.ts';
import { dryRunAnswer } from '../schema.ts';

const share = z.number().min(0).max(1);
const shares = z.record(z.string(), share).describe('Together one.');
const confidence = share.describe('1: all on one option. 0: spread evenly over all of them.');

const decisionAnswer = z.strictObject({
  model: z.string(),
  answers: z
    .record(
      z.string(),
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('noul'), noul: share.describe('How likely it is true.') }),
        z.strictObject({
          type: z.literal('choice'),
          choice: z.string().describe('The likeliest option.'),
          probabilities: shares,
          confidence,
        }),
        z.strictObject({
          type: z.literal('score'),
          score: z.number().min(0).describe('The levels by their places from 0, weighted by their probabilities.'),
          legend: z.record(z.string(), z.string()),
          probabilities: shares,
          confidence,
        }),
      ]),
    )
    .describe('By the id of the question.'),
  usage: z.strictObject({ input_tokens: z.int().min(0), output_tokens: z.int().min(0) }),
});

const DESCRIPTION =
  'Each question is put to the model by itself. Its probabilities are those that the model gives to the options; where the ' +
  'service of a model does not tell them, they come from how often it gives which answer when asked several times. ' +
  'Questions with more options than a service lists alternatives (20) are asked in groups, then the first of each group ' +
  'against each other. `usage` counts every call of the model, and is what is billed; when a call fails, nothing is. ' +
  `A request takes at most 400 calls. ${DRY_RUN}`;

export function decisionDescription(alias: boolean): RouteDescription {
  return {
    group: 'Text',
    operationId: alias ? 'createDecisionAlias' : 'createDecision',
    summary: 'Answer typed questions about a state, with probabilities',
    description: alias ? 'Another name of `POST /decisions`.' : DESCRIPTION,
    stage: 'beta',
    answers: {
      200: {
        means: 'An answer per question.',
        bodies: [{ schema: decisionAnswer }, { schema: dryRunAnswer }],
        headers: ANSWER_HEADERS,
      },
    },
    errors: [
      'insufficient_balance',
      'key_limit_exceeded',
      'forbidden',
      'model_not_found',
      'model_offline',
      'provider_refused',
      'provider_failed',
      'provider_busy',
      'timed_out',
    ],
    example: {
      json: {
        model: 'simulator-decision',
        state: 'The parcel arrived broken and the customer asks for a refund.',
        questions: {
          angry: { type: 'noul', instructions: 'Is the customer angry?' },
          team: {
            type: 'choice',
            instructions: 'Which team answers?',
            criteria: { billing: 'refund or invoice', sales: null },
          },
          urgency: {
            type: 'score',
            instructions: 'How urgent is it?',
            criteria: ['can wait', 'soon', 'now'],
          },
        },
      },
    },
  };
}
