/**
 * Kills processes and loses replies at every failpoint of a payment. It is credited once or not at all, credits equal
 * the transfers on the chain, and a repeated presentation gets the same answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toWallet } from '../../domain/wallets.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import { type EvmChain, startEvmChain } from '../chains/evmChain.ts';
import { startFacilitator, type TestFacilitator } from '../chains/facilitator.ts';
import { asRepeated, headerOf, paidConfig, paidEnvironment } from '../payments/paidWorld.ts';
import { PAYEE, type Signed, signedOn } from '../providers/payments/evm/signedPayments.ts';
import { type KillWorld, openKillWorld, type Part } from './killWorld.ts';

let chain: EvmChain;
let facilitator: TestFacilitator;
let world: KillWorld;

beforeAll(async () => {
  chain = await startEvmChain();
  facilitator = await startFacilitator(chain);
  const config = paidConfig(chain, { facilitatorUrl: facilitator.url, confirmations: 1 });
  world = await openKillWorld(config, paidEnvironment(config));
});
afterAll(async () => {
  await world?.close();
  await facilitator?.close();
  await chain?.stop();
});

interface Case {
  who: 'api' | 'worker';
  point: string;
  action: 'kill' | 'lose';
  /** True if the payment was surely submitted and must be credited. Otherwise it may be searched until it expires. */
  moves: boolean;
}

/**
 * Failpoints of a payment (CRASH-31 to CRASH-34). A settlement is marked before it is sent: a process that dies in
 * between has not sent it.
 */
const POINTS: [Case['who'], string, boolean][] = [
  ['api', 'top-up-start', true],
  ['api', 'top-up-started', true],
  ['worker', 'top-up-recorded', true],
  ['worker', 'top-up-settled', true],
  ['worker', 'top-up-checked', true],
  ['worker', 'top-up-crediting', true],
  ['worker', 'commit-sent', true],
  ['worker', 'top-up-credited', true],
  // Last, because the case moves the clock of the chain forward.
  ['worker', 'top-up-settling', false],
];
const CASES: Case[] = POINTS.flatMap(([who, point, moves]) =>
  (['kill', 'lose'] as const).map((action) => ({ who, point, action, moves })),
);

/** Presents the payment. Undefined if the process died. */
async function present(signed: Signed): Promise<{ status: number; body: unknown } | undefined> {
  try {
    const headers = { 'PAYMENT-SIGNATURE': headerOf(chain, signed) };
    const response = await fetch(`${world.baseUrl}/x402/top-up`, { method: 'POST', headers });
    return { status: response.status, body: await response.json() };
  } catch {
    return undefined;
  }
}

async function creditOf({ payer }: Signed): Promise<bigint> {
  const wallet = toWallet(payer.address);
  if (!wallet) throw new Error('no wallet');
  return (await balanceOf(world.pool, walletAccountId(wallet)))?.usd ?? 0n;
}

async function stateOf({ payer }: Signed): Promise<string | undefined> {
  const { rows } = await world.pool.query<{ state: string }>('select state from top_ups where payer = $1', [
    payer.address.toLowerCase(),
  ]);
  return rows[0]?.state;
}

/** Mines a block every 300 ms, so that transfers become final. */
async function mining<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => void chain.mine(1).catch(() => undefined), 300);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

async function revive(part: Part, signal: AbortSignal): Promise<void> {
  await part.death();
  if (!signal.aborted) await part.respawn();
}

/** Repeats the presentation until the answer is 200 or 402, as a client does after "pending" or no answer. */
async function insist(signed: Signed): Promise<{ status: number; body: unknown }> {
  // A payment that is not on the chain is searched again a minute later.
  const until = Date.now() + 400_000;
  for (;;) {
    const answer = await present(signed);
    if (answer && [200, 402].includes(answer.status)) return answer;
    if (answer) expect([409, 503, 504, 500]).toContain(answer.status);
    if (Date.now() > until) throw new Error(`no end: ${JSON.stringify(answer)}`);
    await sleep(200);
  }
}

const FIVE = 5_000_000n;

describe('a payment whose processes die or whose replies are lost', () => {
  it.each(CASES)('is credited once or not at all: $who, $action at $point', async ({ who, point, action, moves }) => {
    const validBefore = (await chain.now()) + 300n;
    const signed = await signedOn(chain, { value: FIVE, validBefore });
    const settledBefore = facilitator.counts.settle;
    const part = world[who];
    const armed = `${point}:${action}`;
    part.arm(armed);
    const stop = new AbortController();
    const revived = action === 'kill' ? revive(part, stop.signal) : Promise.resolve();
    const insisting = mining(insist(signed));
    if (!moves) {
      // An unsent payment ends when it expires.
      await expect.poll(() => stateOf(signed)).toBe('unknown');
      await chain.setTime(validBefore + 1n);
    }
    const answer = await insisting;
    expect(part.hasFired(armed) || action === 'kill').toBe(true);
    await revived;
    expect(answer.status).toBe(moves ? 200 : 402);
    const again = await mining(insist(signed));
    expect([again.status, asRepeated(again.body)]).toEqual([answer.status, asRepeated(answer.body)]);
    expect(await creditOf(signed)).toBe(moves ? FIVE * 1_000n : 0n);
    expect(await chain.balanceOf(signed.payer.address)).toBe(moves ? FIVE : 2n * FIVE);
    expect(facilitator.counts.settle - settledBefore).toBe(moves ? 1 : 0);
  });

  it('leaves credits that equal the transfers on the chain', async () => {
    const { rows } = await world.pool.query<{ nano: string }>(
      `select sum(amount)::text as nano from transfers where kind = 'top_up'`,
    );
    expect(BigInt(rows[0]?.nano ?? 0)).toBe((await chain.balanceOf(PAYEE)) * 1_000n);
    expect(await checkLedger(world.pool)).toEqual([]);
    expect((await world.ledgerCheck()).code).toBe(0);
  });
});
