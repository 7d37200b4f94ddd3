/** Requests that reach for more than their caller's own: keys, jobs, payments, and calls without a price. */
import { headerOf } from '../../payments/paidWorld.ts';
import { signedOn } from '../../providers/payments/evm/signedPayments.ts';
import { ask, type HostileRow } from './row.ts';
import { creditPayment, type HostileWorld, presentPayment } from './world.ts';

type Row = HostileRow<HostileWorld>;

const UNKNOWN_JOB = { status: 400, body: /Request ID is invalid/, charged: 0n };
const YEAR_S = 31_536_000n;

function childAsks(
  name: string,
  pathOf: (world: HostileWorld) => string,
  answer: Omit<Row, 'name' | 'send'>,
  body?: object,
): Row {
  return {
    name: `a child key ${name}`,
    send: (world) => ask(world.origin, pathOf(world), { key: world.childKey, ...(body && { body }) }),
    ...answer,
  };
}

export const ACCESS_ROWS: readonly Row[] = [
  {
    name: 'the text that makes a key when a wallet signs it',
    send: ({ origin }) => ask(origin, '/api_keys/generate_web3_key', { key: undefined }),
    ...{ status: 200, body: /127\.0\.0\.1.*can spend this wallet's credit/, charged: 0n },
  },
  {
    name: 'the old secret of an ADMIN key that was rotated',
    async send(world) {
      const { id, apiKey } = await newAdminKey(world, {});
      const rotated = await ask(world.origin, `/api_keys/${id}/rotate`, { key: world.adminKey, body: {} });
      if (rotated.status !== 200) return rotated;
      return await ask(world.origin, '/api_keys', { key: apiKey });
    },
    ...{ status: 401, body: /Authentication failed/, charged: 0n },
  },
  {
    name: 'an ADMIN key that takes its own end away',
    async send(world) {
      const { id, apiKey } = await newAdminKey(world, { expiresAt: '2199-01-01' });
      return await ask(world.origin, '/api_keys', {
        key: apiKey,
        method: 'PATCH',
        body: { id, expiresAt: null },
      });
    },
    ...{ status: 400, body: /cannot extend its own life/, charged: 0n },
  },
  {
    name: 'thousands of calls without a price',
    send: callUntilRefused,
    ...{ status: 429, body: /at most 1200 requests per minute/, charged: 0n },
  },
  childAsks('shows the job of another key', ({ queueId }) => `/jobs/${queueId}`, UNKNOWN_JOB),
  childAsks('cancels the job of another key', ({ queueId }) => `/jobs/${queueId}/cancel`, UNKNOWN_JOB, {}),
  childAsks('reads the deliveries of another key', ({ queueId }) => `/jobs/${queueId}/deliveries`, UNKNOWN_JOB),
  {
    name: 'a child key deletes the job of another key',
    send({ origin, childKey: key, queueId }) {
      const body = { model: 'quick-voice', queue_id: queueId };
      return ask(origin, '/audio/voice-changer/complete', { key, body });
    },
    ...UNKNOWN_JOB,
  },
  childAsks('lists jobs', () => '/jobs', { status: 200, body: /"data":\[\]/, charged: 0n }),
  childAsks('reads the balance', () => '/api_keys/rate_limits', {
    ...{ status: 200, body: /"USD":1[,}]/, charged: 0n },
  }),
  {
    name: 'a credited payment that a stranger presents again',
    async send(world) {
      const header = await creditPayment(world);
      const { status, body } = await presentPayment(world.origin, header);
      return { status, body: body.includes('newBalance') ? `a balance: ${body}` : body };
    },
    ...{ status: 200, body: /^\{.*"amountCredited":10/, charged: 0n, topUps: 1 },
  },
  {
    name: 'a payment that is good for a year',
    async send({ origin, chain }) {
      const validBefore = BigInt(Math.floor(Date.now() / 1_000)) + YEAR_S;
      return await presentPayment(origin, headerOf(chain, await signedOn(chain, { validBefore })));
    },
    ...{ status: 400, body: /PAYMENT_VERIFICATION_FAILED/, charged: 0n },
  },
];

async function newAdminKey({ origin, adminKey }: HostileWorld, terms: object) {
  const body = { apiKeyType: 'ADMIN', description: 'hostile', ...terms };
  const made = await ask(origin, '/api_keys', { key: adminKey, body });
  if (made.status !== 200) throw new Error(`${made.status} ${made.body}`);
  return JSON.parse(made.body).data as { id: string; apiKey: string };
}

const PATHS = [
  ...['/characters?search=a', '/billing/usage-history', '/billing/usage-analytics'],
  ...['/api_keys/rate_limits', '/api_keys', '/audit'],
];
/** More than the rate limit of the two minutes that a slow machine may need for them. */
const MAX_CALLS = 2_600;

/** Calls with the default limits. Returns the first refusal or else the last answer. */
async function callUntilRefused({ origin, newPoorKey }: HostileWorld) {
  const key = await newPoorKey();
  let last = { status: 0, body: '' };
  for (let sent = 0; sent < MAX_CALLS && last.status !== 429; sent += 26) {
    const calls = Array.from({ length: 26 }, (_, turn) => ask(origin, PATHS[turn % PATHS.length] ?? '', { key }));
    const answers = await Promise.all(calls);
    last = answers.find(({ status }) => status !== 200) ?? answers[0] ?? last;
    if (last.status !== 200) break;
  }
  return last;
}
