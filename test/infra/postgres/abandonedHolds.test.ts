/** A hold whose outcome its caller never learned is released in the background. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openHold } from '../../../api/paid/ledgerHold.ts';
import type { Caller } from '../../../domain/caller.ts';
import type { Logger } from '../../../infra/log.ts';
import { createAbandonedHolds } from '../../../infra/postgres/abandonedHolds.ts';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { unavailable } from '../../../infra/postgres/failures.ts';
import { findCharge } from '../../../infra/postgres/ledger.ts';
import { abandonedHolds } from '../../../infra/telemetry/counters.ts';
import { until } from '../../harness/until.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});
beforeEach(() => abandonedHolds.reset());

async function counted(): Promise<Record<string, number>> {
  const { values } = await abandonedHolds.get();
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels.outcome), value]));
}

it('a hold that is written although its answer was lost is released', async () => {
  const ledger = world.ledger();
  const forgetful: Ledger = {
    ...ledger,
    async hold(request) {
      await ledger.hold(request);
      throw unavailable('the answer was lost');
    },
  };
  const accountId = await world.account({ usd: 100n });
  const { operationId, snapshot } = order(accountId, both(10n));
  const request = {
    caller: { accountId, keyId: null } as Caller,
    log: { warn: () => undefined } as unknown as Logger,
    ...{ expired: false, beforeLoss: () => undefined },
  };
  const terms = { operationId, bound: both(10n), snapshot, ttlMs: 600_000 };
  const client = { core: { sql: world.pool }, accounts: { ledger: forgetful } };
  const opened = openHold(client, request, terms);
  await expect(opened).rejects.toMatchObject({ code: 'unavailable' });
  expect(await world.balance(accountId)).toMatchObject({ usd: 90n, held: { usd: 10n } });
  await until('it is counted', async () => (await counted()).released === 1);
  expect((await findCharge(world.pool, operationId))?.state).toBe('released');
  expect(await world.balance(accountId)).toMatchObject({ usd: 100n, held: { usd: 0n } });
});

it('retries while the database does not answer', async () => {
  const tries: string[] = [];
  const holds = createAbandonedHolds(async ({ operationId }) => {
    tries.push(operationId);
    if (tries.length < 3) throw new Error('no database');
    return { outcome: 'released', parts: [], replayed: false };
  });
  holds.add({ operationId: 'one', accountId: 'a' });
  await until('it is released', async () => (await counted()).released === 1);
  expect(tries).toEqual(['one', 'one', 'one']);
  holds.close();
});

it('keeps up to its capacity only', async () => {
  const holds = createAbandonedHolds(() => new Promise(() => undefined));
  for (let index = 0; index < 1_003; index += 1) holds.add({ operationId: `${index}`, accountId: 'a' });
  expect(await counted()).toEqual({ unknown: 3 });
  holds.close();
});
