/** Requests per minute and credits per day of an account, the same for all processes (LIMIT-14). */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  booked,
  call,
  newPayer,
  post,
  type RpcPayer,
  type RpcReply,
  type RpcWorld,
  startRpcWorld,
} from './rpcWorld.ts';

let first: RpcWorld;
let second: RpcWorld;
let override: Record<string, number> = {};

beforeAll(async () => {
  first = await startRpcWorld({ limits: 'published' });
  const { environment } = first.api;
  second = await startRpcWorld({ limits: 'published', environment, node: first.node });
  for (const { api } of [first, second]) {
    api.opened.dependencies.limits.calls.overrideOf = () => ({ failedPer30s: 10 ** 9, ...override });
    api.opened.dependencies.limits.calls.tierOf = (accountId) => (accountId === staffId ? 'staff' : 'paid');
  }
});
afterAll(async () => {
  await second.close();
  await first.close();
});

let staffId = '';

/** Alternates between both processes. */
async function many(payer: RpcPayer, count: number, body: (index: number) => string): Promise<RpcReply[]> {
  const replies: RpcReply[] = [];
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      replies.push(await post(index % 2 === 0 ? first : second, payer, { body: body(index) }));
    }
  };
  await Promise.all(Array.from({ length: 100 }, lane));
  return replies;
}

const countOf = (replies: RpcReply[], status: number) => replies.filter((one) => one.status === status).length;

it('serves 100 of 300 requests at once, and 1,000 of 1,010 to staff', async () => {
  const payer = await newPayer(first);
  const replies = await many(payer, 300, () => call('eth_chainId'));
  expect([countOf(replies, 200), countOf(replies, 429)]).toEqual([100, 200]);
  expect((await booked(first, payer)).length).toBe(100);
  const staff = await newPayer(first);
  staffId = staff.accountId;
  const served = await many(staff, 1_010, () => call('eth_chainId'));
  expect([countOf(served, 200), countOf(served, 429)]).toEqual([1_000, 10]);
});

it('reports the limit and its reset in a refusal', async () => {
  const payer = await newPayer(first);
  override = { rpcRequestsPerMinute: 1 };
  const served = await post(first, payer, { body: call('eth_chainId') });
  const refused = await post(second, payer, { body: call('eth_chainId') });
  override = {};
  expect([served.status, refused.status]).toEqual([200, 429]);
  const names = (reply: RpcReply) => [...reply.headers.keys()].filter((name) => name.startsWith('x-ratelimit'));
  const words = ['limit', 'remaining', 'reset'];
  const ofWindow = words.map((word) => `x-ratelimit-${word}-requests`);
  expect(names(served).sort()).toEqual(ofWindow);
  expect(names(refused).sort()).toEqual([...words.map((word) => `x-ratelimit-${word}`), ...ofWindow].sort());
  for (const { headers } of [served, refused]) {
    expect(ofWindow.slice(0, 2).map((name) => headers.get(name))).toEqual(['1', '0']);
  }
  expect(refused.headers.get('x-ratelimit-limit')).toBe('1');
  expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
  const reset = Number(refused.headers.get('x-ratelimit-reset'));
  expect(reset).toBeGreaterThan(Date.now() / 1_000);
  expect(reset).toBeLessThan(Date.now() / 1_000 + 62);
  const message = 'Rate limit exceeded: at most 1 JSON-RPC requests per minute.';
  expect(JSON.parse(refused.text)).toEqual({ error: message, customMessage: message });
  expect(refused.headers.get('x-service-rpc-credits')).toBeNull();
});

it('admits no more credits than the daily limit for a thousand batches at once', async () => {
  const payer = await newPayer(first);
  // Thirteen batches of three and one single call: 13 × 60 + 20 = 800.
  override = { rpcCreditsPerDay: 810, rpcRequestsPerMinute: 10 ** 9 };
  const batch = `[${[1, 2, 3].map((id) => call('eth_chainId', '[]', `${id}`)).join(',')}]`;
  const replies = await many(payer, 1_000, (index) => (index < 990 ? batch : call('eth_chainId')));
  override = {};
  const credits = replies.reduce((sum, { headers }) => sum + Number(headers.get('x-service-rpc-credits') ?? 0), 0);
  const spent = (await booked(first, payer)).reduce((sum, { units }) => sum + Number(units), 0);
  expect(credits).toBe(spent);
  expect(credits).toBeGreaterThanOrEqual(780);
  expect(credits).toBeLessThanOrEqual(810);
  expect(countOf(replies, 200) + countOf(replies, 429)).toBe(1_000);
});

it('returns the credits that a call did not cost', async () => {
  const payer = await newPayer(first);
  override = { rpcCreditsPerDay: 20 };
  const body = call('eth_call', '["error"]');
  const statuses: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) statuses.push((await post(first, payer, { body })).status);
  const refused = await post(first, payer, { body: call('eth_call') });
  override = {};
  // Each call reserves the whole day, of which 15 credits are left after the first.
  expect(statuses).toEqual([200, 429, 429, 429, 429]);
  expect(refused.headers.get('x-ratelimit-remaining')).toBe('15');
  // A refused call counts as a request.
  expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('94');
});

it('takes no credits for node failures and for missing funds', async () => {
  const payer = await newPayer(first, 100_000n);
  override = { rpcCreditsPerDay: 39 };
  const lost = await post(first, payer, { body: call('eth_call', '["status 500"]') });
  const dear = await post(first, payer, { body: call('trace_block') });
  const served = await post(first, payer, { body: call('eth_call') });
  override = {};
  expect([lost.status, dear.status, served.status]).toEqual([500, 429, 200]);
});

it('counts a replay as a request without credits', async () => {
  const payer = await newPayer(first);
  override = { rpcCreditsPerDay: 20, rpcRequestsPerMinute: 3 };
  const headers = { 'idempotency-key': randomUUID() };
  const statuses: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    statuses.push((await post(turn % 2 ? first : second, payer, { body: call('eth_call'), headers })).status);
  }
  override = {};
  expect(statuses).toEqual([200, 200, 200, 429]);
});

it('counts refusals by the failure budget in no account window, and logs both kinds of refusal', async () => {
  const payer = await newPayer(first);
  override = { failedPer30s: 2, rpcRequestsPerMinute: 3 };
  for (const _ of [1, 2]) {
    expect(await post(first, payer, { body: call('eth_nothing') })).toMatchObject({ status: 400 });
  }
  const failing = await post(first, payer, { body: call('eth_chainId') });
  expect(failing.status).toBe(429);
  expect(failing.headers.get('x-ratelimit-remaining')).toBe('0');
  expect(failing.headers.get('x-ratelimit-resets')).toMatch(/^\d{13}$/);
  // Lift the failure budget.
  override = { rpcRequestsPerMinute: 3 };
  expect(await post(second, payer, { body: call('eth_chainId') })).toMatchObject({ status: 200 });
  expect(await post(second, payer, { body: call('eth_chainId') })).toMatchObject({ status: 429 });
  override = {};
  const log = await first.api.opened.dependencies.limits.calls.limiter.refusals(payer.accountId);
  expect(log.map(({ rateLimitType }) => rateLimitType)).toEqual(['RPM', 'FAILED_REQUESTS']);
});

it('counts a request above the daily credits as a request', async () => {
  const payer = await newPayer(first);
  override = { rpcCreditsPerDay: 30, rpcRequestsPerMinute: 1 };
  const batch = `[${[1, 2, 3].map((id) => call('eth_chainId', '[]', `${id}`)).join(',')}]`;
  const tooMuch = await post(first, payer, { body: batch });
  const next = await post(first, payer, { body: call('eth_chainId') });
  override = {};
  expect([tooMuch.status, tooMuch.headers.get('x-ratelimit-limit')]).toEqual([429, '30']);
  expect([next.status, next.headers.get('x-ratelimit-limit')]).toEqual([429, '1']);
});
