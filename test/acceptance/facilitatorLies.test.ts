/**
 * Claims of a facilitator credit nobody. Each lie reports an unsettled payment as settled. Each muddle settles a
 * payment and denies it or says nothing.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { LIES, MUDDLES, SILENCES } from '../chains/facilitatorFaults.ts';
import { until } from '../harness/until.ts';
import { openWalletWorld, type Payer, type TopUp, type WalletWorld } from './walletWorld.ts';

let world: WalletWorld;

beforeAll(async () => {
  world = await openWalletWorld();
  world.facilitator.slowness(2_000);
});

afterAll(() => world.close());

type Fault = Parameters<WalletWorld['facilitator']['behaveTo']>[1];

interface Case {
  fault: Fault;
  payer: Payer;
  answer: Promise<Response>;
}

/** Hanging takes 40 s, so it runs in long mode only. */
const isLong = process.env.FAREBOX_TEST_LONG === '1';
const REORG = 'success, and the block is gone a moment later';
const FIVE_USD = 5_000_000_000n;

/** Presents a payment of five dollars from a wallet with seven. */
async function present(fault: Fault): Promise<Case> {
  const payer = await world.newPayer(7);
  world.facilitator.behaveTo(payer.wallet.address, fault);
  return { fault, payer, answer: payer.topUp() };
}

const presentAll = (faults: object) => Promise.all((Object.keys(faults) as Fault[]).map(present));

async function standOf({ payer }: Case): Promise<TopUp> {
  return (await world.topUpOf(payer)) ?? { state: 'nowhere', settlements: 0, credited: 0n };
}

/** Waits until every payment is in one of `states`. Throws with the others. */
async function untilAll(cases: readonly Case[], states: readonly string[], limitMs: number): Promise<void> {
  const all = () => Promise.all(cases.map(async (each) => ({ fault: each.fault, state: (await standOf(each)).state })));
  const waits = async () => (await all()).filter(({ state }) => !states.includes(state));
  await until('all payments are where they belong', async () => (await waits()).length === 0, limitMs).catch(
    async (error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(await waits())}`);
    },
  );
}

test('credits a settled payment once, whatever the facilitator says', async () => {
  const cases = await presentAll(MUDDLES);
  await untilAll(cases, ['credited'], 60_000);
  for (const each of cases) {
    expect(await standOf(each), each.fault).toMatchObject({ credited: FIVE_USD, settlements: 1 });
    expect(await world.chain.balanceOf(each.payer.wallet.address), each.fault).toBe(2_000_000n);
    // The answer is the credit, a pending state or a refusal, never another credit.
    expect([200, 402, 409, 504], each.fault).toContain((await each.answer).status);
  }
  expect(await checkLedger(world.deployment.pool)).toEqual([]);
});

test('credits no unsettled payment, whatever the facilitator says', async () => {
  const { [REORG]: _, ...lies } = LIES;
  const { hangs, ...silences } = SILENCES;
  const before = await credits();
  const cases = await presentAll({ ...lies, ...silences, ...(isLong && { hangs }) });
  await untilAll(cases, ['sent', 'unknown', 'refused'], 60_000);
  cases.push(await present(REORG));
  await until('it was handed in', async () => (await standOf(cases.at(-1) as Case)).settlements === 1);
  // Time for several lookups on the chain per payment.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  for (const each of cases) {
    expect(world.facilitator.settledFor, each.fault).toContain(each.payer.wallet.address.toLowerCase());
    expect(await standOf(each), each.fault).toMatchObject({ credited: 0n });
    expect(await world.chain.balanceOf(each.payer.wallet.address), each.fault).toBe(7_000_000n);
  }
  // The payments have expired and cannot be settled any more.
  await world.chain.setTime((await world.chain.now()) + 1_000n);
  await world.chain.mine(2);
  // Each is looked up again a minute later.
  await untilAll(cases, ['failed'], 240_000);
  for (const { fault, answer } of cases) expect((await answer).status, fault).not.toBe(200);
  expect(await credits()).toEqual(before);
  expect(await checkLedger(world.deployment.pool)).toEqual([]);
});

async function credits(): Promise<unknown> {
  const { rows } = await world.deployment.pool.query(
    "select count(*), coalesce(sum(amount), 0) as sum from transfers where kind = 'top_up'",
  );
  return rows;
}
