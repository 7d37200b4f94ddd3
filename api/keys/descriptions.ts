/** How the key routes describe themselves. */
import { z } from 'zod';
import { answersWith, FIELD, type RouteDescription } from '../describe.ts';
import {
  changedAnswer,
  createdAnswer,
  deletedAnswer,
  keyAnswer,
  keyListAnswer,
  rotatedAnswer,
} from './answers.ts';

const params = z.object({ id: z.string().meta({ description: 'The id of a key of this account.' }) });

const NEW_KEY = { apiKeyType: 'INFERENCE', description: 'A key to try' };
const MAKE_ONE = [
  FIELD,
  `KEY_ID=$(curl -sS "$FAREBOX_URL/api_keys" -H "Authorization: Bearer $FAREBOX_API_KEY" \\
  -H 'Content-Type: application/json' -d '${JSON.stringify(NEW_KEY)}' | field id)`,
];

type Descriptions = Record<'list' | 'show' | 'create' | 'update' | 'remove' | 'rotate', RouteDescription>;

export const KEY_DESCRIPTIONS: Descriptions = {
  list: {
    group: 'Keys',
    operationId: 'listApiKeys',
    summary: 'The active keys of the account, with what they spent',
    description:
      'Spending is told for the last seven days and, on keys with a cap, for the period that the cap counts. Amounts ' +
      'have four decimals, rounded half up.',
    answers: answersWith(keyListAnswer),
    example: {},
  },
  show: {
    group: 'Keys',
    operationId: 'showApiKey',
    summary: 'One key, with what it spent',
    params,
    answers: answersWith(keyAnswer),
    example: { before: MAKE_ONE, params: { id: '$KEY_ID' } },
  },
  create: {
    group: 'Keys',
    operationId: 'createApiKey',
    summary: 'Make a key',
    description:
      'The secret is in the answer and nowhere else. An account has at most 500 active keys and makes at most 20 in a ' +
      'minute. `models` (beside the specification) names the only models that an INFERENCE key may call, and `parentId` the key whose terms and caps bind it, too.',
    answers: answersWith(createdAnswer),
    errors: ['rate_limited'],
    example: {
      json: {
        ...NEW_KEY,
        consumptionLimit: { usd: 5, diem: null },
        limitPeriod: 'MONTH',
        modelPrivacy: 'ALL',
      },
    },
  },
  update: {
    group: 'Keys',
    operationId: 'updateApiKey',
    summary: 'Change a key',
    description: 'Only the named fields change. An empty string or null as `expiresAt` removes the expiry.',
    answers: answersWith(changedAnswer),
    example: { before: MAKE_ONE, json: { id: '$KEY_ID', description: 'Another name', expiresAt: null } },
  },
  remove: {
    group: 'Keys',
    operationId: 'deleteApiKey',
    summary: 'End a key',
    description:
      'At once, in every process. The key is named either by the query or, beside the specification, by the body.',
    answers: answersWith(deletedAnswer),
    example: { before: MAKE_ONE, query: { id: '$KEY_ID' } },
  },
  rotate: {
    group: 'Keys',
    operationId: 'rotateApiKey',
    summary: 'Give a key a new secret',
    description:
      'The present secret works on for `overlapSeconds` (0 to 604,800; 3,600 when left out). Beside the specification.',
    params,
    answers: answersWith(rotatedAnswer),
    errors: ['rate_limited'],
    example: { before: MAKE_ONE, params: { id: '$KEY_ID' }, json: { overlapSeconds: 60 } },
  },
};
