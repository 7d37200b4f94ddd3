/** A facilitator is never trusted: a lie credits nothing, a confused answer with a settlement credits once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EvmChain, startEvmChain } from '../../chains/evmChain.ts';
import { type FaultName, startFacilitator, type TestFacilitator } from '../../chains/facilitator.ts';
import { LIES, MUDDLES } from '../../chains/facilitatorFaults.ts';
import { createWorld, type Spawned, spawnWorker } from '../../harness/services.ts';
import { asRepeated, headerOf, paidConfig, paidEnvironment } from '../../payments/paidWorld.ts';
import { type Signed, signedOn } from '../../providers/payments/evm/signedPayments.ts';
import { startApi, type TestApi } from '../startApi.ts';

let chain: EvmChain;
let facilitator: TestFacilitator;
let api: TestApi;
let worker: Spawned;

beforeAll(async () => {
  chain = await startEvmChain();
  facilitator = await startFacilitator(chain);
  facilitator.slowness(1_500);
  const { environment } = await createWorld();
  Object.assign(environment, paidEnvironment(paidConfig(chain, { facilitatorUrl: facilitator.url })));
  worker = await spawnWorker({ environment });
  api = await startApi({ environment });
});
afterAll(async () => {
  await api.stop();
  worker.kill('SIGKILL');
  await worker.exit;
  await facilitator.close();
  await chain.stop();
});

async function pay(signed: Signed): Promise<{ status: number; body: unknown }> {
  const headers = { 'PAYMENT-SIGNATURE': headerOf(chain, signed) };
  const response = await api.call('/x402/top-up', { method: 'POST', headers });
  return { status: response.status, body: await response.json() };
}

async function begun(fault: FaultName) {
  const signed = await signedOn(chain);
  const before = facilitator.counts.settle;
  facilitator.behave(fault);
  const answer = pay(signed);
  await expect.poll(() => facilitator.counts.settle).toBe(before + 1);
  return { fault, signed, answer };
}

describe('a facilitator', () => {
  it.each(Object.keys(MUDDLES) as FaultName[])('that %s has the payer credited once', async (fault) => {
    const { signed, answer } = await begun(fault);
    expect(await answer).toMatchObject({ status: 200, body: { success: true } });
    const settled = facilitator.counts.settle;
    const { status, body } = await pay(signed);
    const first = await answer;
    expect([status, body]).toEqual([first.status, asRepeated(first.body)]);
    expect(facilitator.counts.settle).toBe(settled);
  });

  it('that refuses a payment is asked again when its payer presents it again', async () => {
    facilitator.behave('answers 429');
    const signed = await signedOn(chain);
    expect(await pay(signed)).toMatchObject({
      status: 402,
      body: { error: 'SETTLEMENT_FAILED', details: { status: 'refused' } },
    });
    facilitator.behave('honest');
    expect(await pay(signed)).toMatchObject({ status: 200, body: { data: { amountCredited: 10 } } });
  });

  it(`that lies in ${Object.keys(LIES).length} ways gets nothing credited`, async () => {
    const lied = [];
    for (const lie of Object.keys(LIES) as FaultName[]) {
      const told = await begun(lie);
      lied.push(told);
      // Wait for this lie, because the next payment uses another one.
      const payer = told.signed.payer.address.toLowerCase();
      const { sql } = api.opened.dependencies.core;
      const stateOf = async () =>
        (await sql.query<{ state: string }>('select state from top_ups where payer = $1', [payer])).rows[0]?.state;
      await expect.poll(stateOf).not.toBe('settling');
    }
    const ends = lied.map(({ signed }) => Number(signed.authorization.validBefore));
    await chain.setTime(BigInt(Math.max(...ends)) + 1n);
    for (const { fault, answer } of lied) {
      // Refused, or still being checked.
      expect([402, 504], fault).toContain((await answer).status);
    }
    const { rows } = await api.opened.dependencies.core.sql.query<{ state: string }>(
      'select state from top_ups where payer = any ($1) group by state',
      [lied.map(({ signed }) => signed.payer.address.toLowerCase())],
    );
    expect(rows.map(({ state }) => state)).not.toContain('credited');
  });
});
