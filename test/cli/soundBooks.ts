/** Writes sound books with every kind of entry, for tests that damage them. */
import { randomUUID } from 'node:crypto';
import type { LedgerPrice, PriceSnapshot } from '../../domain/ledger.ts';
import { charge, grant, refund } from '../../infra/postgres/ledger.ts';
import { createLedgerWorld, type LedgerWorld, order } from '../infra/postgres/ledgerWorld.ts';
import { payIn } from '../infra/postgres/payIn.ts';

/** Ids that the damage refers to. */
export interface SoundBooks {
  account: string;
  other: string;
  wallet: string;
  payment: string;
  key: string;
  /** A purchase of JSON-RPC credits with a key. */
  rpc: string;
  chat: string;
  /** A text call paid in USD only. */
  text: string;
  /** A charge of 1,500 with a hold of 1,000: the rest is a separate charge. */
  overrun: string;
  /** A grant of 70 vcu. */
  vcu: string;
  held: string;
  refunded: string;
  runningJob: string;
  storedJob: string;
  failedJob: string;
}

const usd = (amount: bigint): LedgerPrice => ({ usd: amount, diem: 0n });

function snapshot(more: Partial<PriceSnapshot>): PriceSnapshot {
  return {
    ...{ sku: 'test', modelId: 'test', provider: 'simulator', units: '1', unit: 'request' },
    ...{ pricePerUnitUsd: '1000', requestId: randomUUID(), ...more },
  };
}

export async function writeSoundBooks(databaseUrl: string): Promise<SoundBooks> {
  const world = await createLedgerWorld(4, databaseUrl);
  try {
    return await writeBooks(world);
  } finally {
    await world.close();
  }
}

async function writeBooks(world: LedgerWorld): Promise<SoundBooks> {
  const { pool } = world;
  const account = await world.account({ usd: 1_000_000n, bundled: 500n, diem: 400n });
  const other = await world.account({ usd: 1_000_000n });
  const key = await world.key(account, { usd: 500_000n, diem: 500n, period: 'MONTH' });
  const child = await world.key(account, {}, key);
  const sell = async (price: LedgerPrice, of: Partial<PriceSnapshot>, keyId: string | null = key) => {
    const sold = order(account, price, { keyId, snapshot: snapshot(of) });
    await charge(pool, sold);
    return sold.operationId;
  };
  const rpc = await sell(usd(2_100n), { unit: 'credit', units: '3', pricePerUnitUsd: '700' });
  await sell(usd(1_001n), { unit: 'image', units: '2', pricePerUnitUsd: '500' }, child);
  const tokens = {
    ...{ unit: 'million tokens', units: '0.0003', promptTokens: 100, completionTokens: 200 },
    lines: [100, 1_000_000, 200, 4_000_000],
  };
  const chat = await sell({ usd: 900n, diem: 900n }, tokens);
  const text = await sell(usd(900n), tokens);
  const refunded = await sell(usd(1_000n), {});
  await refund(pool, { operationId: `${refunded}:r`, chargeOperationId: refunded, reason: 'failed' });
  const held = order(account, usd(5_000n), { keyId: key, snapshot: snapshot({}) });
  const ledger = world.ledger();
  await ledger.hold({ ...held, ttlMs: 3_600_000 });
  const settled = order(account, usd(1_000n), { keyId: key, snapshot: snapshot({}) });
  await ledger.hold({ ...settled, ttlMs: 60_000 });
  await ledger.settle({ operationId: settled.operationId, price: usd(1_000n) });
  const overrun = order(account, usd(1_000n), { keyId: key, snapshot: snapshot({}) });
  await ledger.hold({ ...overrun, ttlMs: 60_000 });
  const bill = { price: usd(1_500n), snapshot: { pricePerUnitUsd: '1500' } };
  await ledger.settle({ operationId: overrun.operationId, ...bill });
  const vcu = `vcu:${account}`;
  await grant(pool, { operationId: vcu, accountId: account, currency: 'vcu', amount: 70n, notes: 'test' });
  const jobs = {
    runningJob: await writeJob(world, { account, key, state: 'submitted' }),
    storedJob: await writeJob(world, { account, key, state: 'stored' }),
    failedJob: await writeJob(world, { account, key, state: 'failed' }),
  };
  return {
    ...{ account, other, key, rpc, chat, text, vcu, refunded, ...jobs },
    ...{ held: held.operationId, overrun: overrun.operationId, ...(await payIn(pool, '5000000')) },
  };
}

async function writeJob(
  { pool, owner }: LedgerWorld,
  { account, key, state }: { account: string; key: string; state: 'submitted' | 'stored' | 'failed' },
): Promise<string> {
  const queueId = randomUUID();
  const price = 1_000n;
  const sold = { operationId: queueId, accountId: account, keyId: key, price: usd(price) };
  await charge(pool, { ...sold, snapshot: snapshot({ queueId, unit: 'generation' }) });
  if (state === 'failed') {
    await refund(pool, { operationId: queueId, chargeOperationId: queueId, reason: 'failed' });
  }
  await owner.query(
    `insert into jobs (queue_id, account_id, key_id, kind, model_id, provider, state, request_id, price_usd_nano,
       charge_operation_id, charge_id, refund_id, output_key, deadline_at)
     values ($1, $2, $3, 'video', 'test', 'simulator', $4, 'r', $5, $1, $1::uuid::text, $6, 'out',
       clock_timestamp() + interval '30 minutes')`,
    [queueId, account, key, state, price.toString(), state === 'failed' ? queueId : null],
  );
  return queueId;
}
