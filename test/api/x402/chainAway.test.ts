/** A chain that is down, slow or inconsistent when a payment is presented: the route says so, and nothing is lost. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTopUpService } from '../../../api/wallets/topUpService.ts';
import { creditedBody, inProgressBody, timeoutBody } from '../../../api/x402/schema.ts';
import { type EvmChain, startEvmChain } from '../../chains/evmChain.ts';
import { type NodeFailure, startRpcNode, type TestNode } from '../../chains/rpcNode.ts';
import { createWorld, type Spawned, spawnWorker } from '../../harness/services.ts';
import { endsBefore } from '../../harness/until.ts';
import { headerOf, paidConfig, paidEnvironment } from '../../payments/paidWorld.ts';
import { DOLLAR, type Signed, signedOn } from '../../providers/payments/evm/signedPayments.ts';
import { startApi, type TestApi } from '../startApi.ts';

/** Replaces 25 s. */
const SETTLE_WAIT_MS = 1_000;

let chain: EvmChain;
let nodes: [TestNode, TestNode];
let deaf: TestNode;
let apis: { api: TestApi; waiting: TestApi };
let worker: Spawned;
/** A payment for the hanging nodes. The other payments go to other nodes. */
let hanging: { signed: Signed; answer: Promise<Told>; isInTime: Promise<boolean> };

beforeAll(async () => {
  chain = await startEvmChain();
  nodes = [await startRpcNode(chain.rpcUrl), await startRpcNode(chain.rpcUrl)];
  deaf = await startRpcNode(chain.rpcUrl);
  const { environment } = await createWorld();
  const through = (rpcUrls: string[]) => {
    const { limits, x402 } = paidConfig(chain, { confirmations: 1 });
    return {
      limits,
      x402: { networks: x402.networks.map(({ rpcUrl: _, ...entry }) => ({ ...entry, rpcUrls })) },
    };
  };
  Object.assign(environment, paidEnvironment(through(nodes.map(({ url }) => url))));
  worker = await spawnWorker({ environment });
  const ofDeaf = { ...environment, ...paidEnvironment(through([deaf.url])) };
  apis = { api: await startApi({ environment }), waiting: await startApi({ environment: ofDeaf }) };
  const { dependencies } = apis.api.opened;
  dependencies.accounts.topUps = createTopUpService({
    ...dependencies.core,
    ...dependencies.jobs,
    settleWaitMs: SETTLE_WAIT_MS,
  });
  const signed = await signedOn(chain);
  deaf.fail('hangs');
  const answer = present(signed, apis.waiting);
  hanging = { signed, answer, isInTime: endsBefore(answer, 10_000) };
});
afterAll(async () => {
  await apis?.api.stop();
  await apis?.waiting.stop();
  worker?.kill('SIGKILL');
  await worker?.exit;
  await Promise.all([...(nodes ?? []), deaf].map((node) => node?.close()));
  await chain?.stop();
});
beforeEach(() => {
  for (const node of nodes) {
    node.fail(undefined);
    node.rewrite(undefined);
    node.lag(0);
  }
});

interface Told {
  status: number;
  retryAfter: string | null;
  body: unknown;
}

async function present(signed: Signed, api = apis.api): Promise<Told> {
  const headers = { 'PAYMENT-SIGNATURE': headerOf(chain, signed) };
  const response = await api.call('/x402/top-up', { method: 'POST', headers });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: await response.json(),
  };
}

async function rowsOf({ payer }: Signed): Promise<number> {
  const { sql } = apis.api.opened.dependencies.core;
  const { rowCount } = await sql.query('select from top_ups where payer = $1', [payer.address.toLowerCase()]);
  return rowCount ?? 0;
}

/** Presents the payment and mines blocks until it is credited. Returns the amount. */
async function credited(signed: Signed): Promise<number> {
  await expect
    .poll(
      async () => {
        await chain.mine(1);
        return (await present(signed)).status;
      },
      { timeout: 100_000, interval: 50 },
    )
    .toBe(200);
  return creditedBody.parse((await present(signed)).body).data.amountCredited;
}

const AWAY = {
  status: 503,
  retryAfter: '5',
  body: { error: expect.stringContaining('present the same payment again') },
};

it('a hanging chain delays only the payments on it', async () => {
  let answered = false;
  void hanging.answer.finally(() => {
    answered = true;
  });
  const offer = await apis.waiting.call('/x402/top-up', { method: 'POST' });
  expect([offer.status, answered]).toEqual([402, false]);
});

describe('a payment whose chain cannot be queried, which is refused and can be presented again', () => {
  it.each(['hangs up', 'answers 500', 'answers HTML', 'answers garbage', 'answers 429'] as const)(
    'when every node %s',
    async (how: NodeFailure) => {
      const signed = await signedOn(chain);
      for (const node of nodes) node.fail(how);
      expect(await present(signed)).toMatchObject(AWAY);
      expect(await rowsOf(signed)).toBe(0);
    },
  );

  it('when one of two nodes fails, and when they disagree', async () => {
    const signed = await signedOn(chain);
    nodes[1].fail('hangs up');
    expect(await present(signed)).toMatchObject(AWAY);
    nodes[1].fail(undefined);
    nodes[1].rewrite(({ method }, reply) =>
      method === 'eth_call' && JSON.stringify(reply.result).length < 10
        ? { jsonrpc: '2.0', id: reply.id, error: { code: 3, message: 'execution reverted' } }
        : undefined,
    );
    expect(await present(signed)).toMatchObject(AWAY);
    expect(await rowsOf(signed)).toBe(0);
    nodes[1].rewrite(undefined);
    expect(await credited(signed)).toBe(10);
  });
});

it('a payment without enough confirmations in time is reported as pending, and credited on a later request', async () => {
  const { signed, details } = await presentUntilSent();
  expect(details).toMatchObject({
    status: 'pending',
    transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  });
  const hash = details.transaction as `0x${string}`;
  expect((await chain.client.getTransactionReceipt({ hash })).status).toBe('success');
  const [again, third] = await Promise.all([present(signed), present(signed)]);
  expect([again.status, again.retryAfter]).toEqual([409, '2']);
  expect(inProgressBody.parse(again.body).details).toEqual(details);
  expect(third).toEqual(again);
  // One of the two nodes lags behind, so the payment is not final.
  nodes[1].lag(3);
  await chain.mine(2);
  expect((await present(signed)).status).toBe(409);
  nodes[1].lag(0);
  expect(await credited(signed)).toBe(10);
  expect(await chain.balanceOf(signed.payer.address)).toBe(10n * DOLLAR);
  const { body } = await present(signed);
  expect(creditedBody.parse(body).data.paymentId).toBe(details.paymentId);
});

/** Presents payments with growing waits until the worker sends one before the wait ends. */
async function presentUntilSent() {
  for (let settleWaitMs = SETTLE_WAIT_MS; ; settleWaitMs *= 4) {
    const { dependencies } = apis.api.opened;
    dependencies.accounts.topUps = createTopUpService({
      ...dependencies.core,
      ...dependencies.jobs,
      settleWaitMs,
    });
    const signed = await signedOn(chain);
    const { status, retryAfter, body } = await present(signed);
    expect([status, retryAfter]).toEqual([504, '2']);
    const details = timeoutBody.parse(body).details ?? {};
    if (details.transaction !== undefined || settleWaitMs > 30_000) return { signed, details };
  }
}

it('a payment whose chain hangs is refused within ten seconds', async () => {
  const { signed, answer, isInTime } = hanging;
  expect(await answer).toMatchObject(AWAY);
  expect(await isInTime).toBe(true);
  expect(await rowsOf(signed)).toBe(0);
});
