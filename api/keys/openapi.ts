/** Descriptions of the key routes. */
import { z } from 'zod';
import { answersWith, FIELD, type RouteDescription } from '../http/describe.ts';
import {
  changedAnswer,
  createdAnswer,
  deletedAnswer,
  keyAnswer,
  keyListAnswer,
  rotatedAnswer,
  web3TokenAnswer,
} from './schema.ts';

const params = z.object({ id: z.string().meta({ description: 'The id of a key of this account.' }) });

const NEW_KEY = { apiKeyType: 'INFERENCE', description: 'A key to try' };
const MAKE_ONE = [
  FIELD,
  `KEY_ID=$(curl -sS "$FAREBOX_URL/api_keys" -H "Authorization: Bearer $FAREBOX_API_KEY" \\
  -H 'Content-Type: application/json' -d '${JSON.stringify(NEW_KEY)}' | field id)`,
];

type KeyDescriptions = Record<
  'list' | 'show' | 'create' | 'update' | 'remove' | 'rotate' | 'web3Token' | 'web3Key',
  RouteDescription
>;

export const KEY_DESCRIPTIONS: KeyDescriptions = {
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
      'minute. `models` names the only models that an INFERENCE key may call, and `parentId` the key whose terms and caps bind it, too.',
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
    description: 'At once, in every process. The key is named either by the query or by the body.',
    answers: answersWith(deletedAnswer),
    example: { before: MAKE_ONE, query: { id: '$KEY_ID' } },
  },
  rotate: {
    group: 'Keys',
    operationId: 'rotateApiKey',
    summary: 'Give a key a new secret',
    description:
      'The present secret works on for `overlapSeconds` (0 to 604,800; when left out 3,600, of an ADMIN key 0).',
    params,
    answers: answersWith(rotatedAnswer),
    errors: ['rate_limited'],
    example: { before: MAKE_ONE, params: { id: '$KEY_ID' }, json: { overlapSeconds: 60 } },
  },
  web3Token: {
    group: 'Keys',
    operationId: 'web3KeyToken',
    summary: 'A text for a wallet to sign',
    description:
      'The text names this domain, says that the signature creates an API key, and is good for 15 minutes and one key. With ' +
      '`address` it is a whole EIP-4361 message, which wallets check against the page that shows it; with `apiKeyType` it ' +
      'makes keys of that type only.',
    answers: answersWith(web3TokenAnswer),
    errors: ['rate_limited'],
    example: {},
  },
  web3Key: {
    group: 'Keys',
    operationId: 'generateWeb3Key',
    summary: 'Make a key with a wallet in place of a key',
    description:
      'The wallet signs the token, letter by letter, as a message (EIP-191, or Ed25519 on Solana). The key is one of ' +
      "the wallet's account, which is opened if need be. It may be spend-capped and expire as any other; with an ADMIN key " +
      'of its own, a wallet makes further keys and children of keys. A token makes one key.',
    answers: answersWith(createdAnswer),
    errors: ['rate_limited', 'credential_invalid'],
    example: {
      before: [
        FIELD,
        'TOKEN=$(curl -sS "$FAREBOX_URL/api_keys/generate_web3_key" | field token)',
        '# A wallet signs the token: this address and signature stand for yours.',
      ],
      json: {
        address: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
        signature: `0x${'00'.repeat(65)}`,
        token: '$TOKEN',
        apiKeyType: 'INFERENCE',
        description: 'Capped and short-lived',
        consumptionLimit: { usd: 1 },
      },
    },
  },
};
