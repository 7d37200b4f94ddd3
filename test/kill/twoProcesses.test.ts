/** Two API processes and a worker on one ledger, with one payment or one sign-in presented many times at once. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parseAbiItem } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { creditedBody } from '../../api/x402/schema.ts';
import { toWallet } from '../../domain/wallets.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import { type EvmChain, startEvmChain } from '../chains/evmChain.ts';
import { startFacilitator, type TestFacilitator } from '../chains/facilitator.ts';
import { type MortalRedis, startRedis } from '../harness/redis.ts';
import { type Spawned, services, spawnApi } from '../harness/services.ts';
import { until } from '../harness/until.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { challengedSignIn } from '../payments/challengedSignIn.ts';
import { headerOf, legacyHeaderOf, PAYMENT_HEADERS, paidConfig, paidEnvironment } from '../payments/paidWorld.ts';
import { DOLLAR, PAYEE, type Signed, signedOn } from '../providers/payments/evm/signedPayments.ts';
import { type KillWorld, openKillWorld } from './killWorld.ts';

const TOGETHER = longRun(60, 1_000);
const ROUNDS = longRun(2, 20);
const USES = longRun(200, 1_000);

let chain: EvmChain;
let facilitator: TestFacilitator;
let redis: MortalRedis;
let world: KillWorld;
let second: Spawned & { baseUrl: string };

beforeAll(async () => {
  // A payment takes 1 to 2 seconds on this chain, so that all presentations meet it under way.
  chain = await startEvmChain({ blockSeconds: 1 });
  facilitator = await startFacilitator(chain);
  // Its own Redis, because the test empties it.
  redis = await startRedis(path.join(services().folder, randomUUID()));
  const config = paidConfig(chain, { facilitatorUrl: facilitator.url, confirmations: 1 });
  world = await openKillWorld(config, { ...paidEnvironment(config), REDIS_URL: redis.url });
  const { PORT: _, ...environment } = world.environment;
  second = await spawnApi({ environment });
});
afterAll(async () => {
  second?.kill('SIGKILL');
  await second?.exit;
  await world?.close();
  await redis?.kill();
  await facilitator?.close();
  await chain?.stop();
});

interface Reply {
  status: number;
  body: unknown;
}

const ASK_LIMIT_MS = 60_000;
const PAUSE_MS = 500;

/** Sends to one of the two processes. Repeats after a 503, which means that no connection is free. */
async function ask(process: number, where: string, init: RequestInit): Promise<Reply> {
  const { baseUrl } = process === 0 ? world : second;
  for (const deadline = Date.now() + ASK_LIMIT_MS; ; await sleep(PAUSE_MS)) {
    const response = await fetch(`${baseUrl}${where}`, init);
    const reply = { status: response.status, body: await response.json() };
    if (reply.status !== 503 || Date.now() > deadline) return reply;
  }
}

/** Three headers, two envelopes and two processes give twelve distinct ways. */
const WAYS = 12;

function present(signed: Signed, way: number): Promise<Reply> {
  const header = way % 2 === 0 ? headerOf(chain, signed) : legacyHeaderOf(signed);
  const headers = { [PAYMENT_HEADERS[way % 3] ?? '']: header };
  return ask(Math.floor(way / 6) % 2, '/x402/top-up', { method: 'POST', headers });
}

function accountOf({ payer }: Signed): string {
  const wallet = toWallet(payer.address);
  if (!wallet) throw new Error('no wallet');
  return walletAccountId(wallet);
}

/** Transfers of a wallet in the ledger, ordered by id. */
async function movesOf(signed: Signed, kind: 'top_up' | 'charge') {
  const { rows } = await world.pool.query<{ id: string; nano: string }>(
    `select operation_id as id, amount::text as nano from transfers where account_id = $1 and kind = $2
     order by id`,
    [accountOf(signed), kind],
  );
  return rows;
}

/** Amounts of the transfers on the chain to the payee, from one wallet or from all. */
async function transfersOf(from?: Signed): Promise<bigint[]> {
  const found = await chain.client.getLogs({
    address: chain.usdc,
    event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
    args: { to: PAYEE, ...(from && { from: from.payer.address }) },
    fromBlock: 0n,
    strict: true,
  });
  return found.map(({ args }) => args.value);
}

const TEN = 10n * DOLLAR;
const NANO_PER_UNIT = 1_000n;
const CREDITED = { status: 200, amountCredited: 10 };

const pendingBody = z.object({
  error: z.enum(['PAYMENT_IN_PROGRESS', 'SETTLEMENT_TIMEOUT']),
  details: z.object({ status: z.literal('pending'), paymentId: z.string() }),
});

/** Parses an answer: credited or pending. Throws for any other. */
function told({ status, body }: Reply): { paymentId: string; status: number; amountCredited?: number } {
  if (status === 200) {
    const { paymentId, amountCredited } = creditedBody.parse(body).data;
    return { paymentId, status, amountCredited };
  }
  if (status !== 409 && status !== 504) throw new Error(`${status} ${JSON.stringify(body)}`);
  return { paymentId: pendingBody.parse(body).details.paymentId, status };
}

/** Presents the payment again in every way. All answers must show the credit. */
async function askOnceMore(signed: Signed): Promise<string[]> {
  const again = await Promise.all(
    Array.from({ length: WAYS }, async (_value, way) => told(await present(signed, way))),
  );
  for (const each of again) expect(each).toMatchObject(CREDITED);
  return again.map(({ paymentId }) => paymentId);
}

async function onePayment(): Promise<void> {
  const signed = await signedOn(chain, { value: TEN });
  const answers = await Promise.all(
    Array.from({ length: TOGETHER }, async (_value, way) => told(await present(signed, way))),
  );
  for (const each of answers) if (each.status === 200) expect(each).toMatchObject(CREDITED);
  if (answers.some(({ status }) => status !== 200)) {
    const isCredited = async () => (await movesOf(signed, 'top_up')).length > 0;
    await until('the credit that was promised has come', isCredited);
  }
  const ids = new Set([...answers.map(({ paymentId }) => paymentId), ...(await askOnceMore(signed))]);
  expect(ids.size).toBe(1);
  const [id] = ids;
  expect(await movesOf(signed, 'top_up')).toEqual([{ id, nano: String(TEN * NANO_PER_UNIT) }]);
  expect(await transfersOf(signed)).toEqual([TEN]);
  const payer = signed.payer.address.toLowerCase();
  expect(facilitator.settledFor.filter((each) => each === payer).length).toBe(1);
}

describe(`a payment presented ${TOGETHER} times at once`, () => {
  it(`is credited once over three headers, both envelopes and two processes, in ${ROUNDS} rounds`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) await onePayment();
  });
});

const SIGN_IN_HEADERS = ['SIGN-IN-WITH-X', 'X-Sign-In-With-X'] as const;

/** Two header names and two processes give four distinct ways. */
function chat(signIn: string, way: number): Promise<Reply> {
  const body = { model: 'simulator-text', max_tokens: 8, messages: [{ role: 'user', content: 'Hello' }] };
  const headers = { 'content-type': 'application/json', [SIGN_IN_HEADERS[way % 2] ?? '']: signIn };
  return ask(Math.floor(way / 2) % 2, '/chat/completions', {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
}

const REUSED = { status: 401, body: { error: expect.any(String), code: 'X402_SIGN_IN_NONCE_REUSED' } };

async function empty({ url }: MortalRedis): Promise<void> {
  const client = new Redis(url);
  try {
    // Proves that the processes use this Redis.
    expect(await client.dbsize()).toBeGreaterThan(0);
    await client.flushall();
  } finally {
    client.disconnect();
  }
}

describe(`a sign-in used ${USES} times at once`, () => {
  it('buys once over two processes and is refused otherwise, also after Redis lost its data', async () => {
    const signed = await signedOn(chain, { value: TEN });
    expect(told(await present(signed, 0))).toMatchObject(CREDITED);
    const address = `${world.baseUrl}/x402/balance/${signed.payer.address}`;
    const signIn = await challengedSignIn(address, signed.payer);
    const answers = await Promise.all(Array.from({ length: USES }, (_value, way) => chat(signIn, way)));
    const others = answers.filter(({ status }) => status !== 200);
    expect(others.length).toBe(USES - 1);
    for (const each of others) expect(each).toEqual(REUSED);
    await empty(redis);
    for (let way = 0; way < 4; way += 1) expect(await chat(signIn, way)).toEqual(REUSED);
    const isPaid = async () => (await movesOf(signed, 'charge')).length > 0;
    await until('the call is paid', isPaid);
    expect((await movesOf(signed, 'charge')).length).toBe(1);
    // Both processes accept a new signature.
    for (const way of [0, 2]) {
      expect((await chat(await challengedSignIn(address, signed.payer), way)).status).toBe(200);
    }
  });
});

describe('the ledger afterwards', () => {
  it('is in order and equals the transfers on the chain', async () => {
    const { rows } = await world.pool.query<{ nano: string }>(
      `select amount::text as nano from transfers where kind = 'top_up'`,
    );
    const credits = rows.map(({ nano }) => BigInt(nano));
    expect(credits.length).toBe(ROUNDS + 1);
    expect(credits).toEqual((await transfersOf()).map((units) => units * NANO_PER_UNIT));
    await until('no hold is open without its end', async () => (await checkLedger(world.pool)).length === 0);
    expect((await world.ledgerCheck()).code).toBe(0);
  });
});
