/** Random histories against the real database and the model: every answer and every balance must agree. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerPrice, LimitPeriod, Part } from '../../../domain/ledger.ts';
import { setDiemAllocation } from '../../../infra/postgres/accounts.ts';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { adjust, charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { type Ask, LedgerModel, show, type Way } from './ledgerModel.ts';
import { createLedgerWorld, type KeyLimits, type LedgerWorld, SNAPSHOT } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

const START = Date.parse('2026-11-29T20:00:00Z');
const ALLOCATIONS = [0n, 7n, 12n];
/** Two keys of the first account, the first with two children; one of the second, with a child; none of the third. */
const KEYS = [
  { account: 0 },
  { account: 0 },
  { account: 1 },
  { account: 0, parent: 0 },
  { account: 0, parent: 0 },
  { account: 1, parent: 2 },
];
const RUNS = longRun(40, 1_000);

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

/** State of one history, with its own accounts. A prefix of the run keeps the ids of histories apart. */
interface Scene {
  model: LedgerModel;
  ledger: Ledger;
  accounts: string[];
  keys: string[];
  prefix: string;
  ids: string[];
}

type Command = (scene: Scene) => Promise<void>;

const account = fc.nat({ max: ALLOCATIONS.length - 1 });
/** An operation id: new, or one of the last used, so that repeats and conflicts are common. */
interface Ref {
  fresh: boolean;
  back: number;
}
const refs = (freshness: number): fc.Arbitrary<Ref> =>
  fc.record({ fresh: fc.nat({ max: 99 }).map((roll) => roll < freshness), back: fc.nat({ max: 11 }) });
const amount = fc.bigInt({ min: 0n, max: 12n });
const price: fc.Arbitrary<LedgerPrice> = fc.oneof(
  { weight: 3, arbitrary: amount.map((both) => ({ usd: both, diem: both })) },
  { weight: 2, arbitrary: fc.record({ usd: amount, diem: amount }) },
);
type AskFor = Omit<Ask, 'id'> & { ref: Ref };
/** Keys of the account, no key, and sometimes another account's key. */
const payer = fc.constantFrom<[number, number | null]>(
  ...([
    [0, 0],
    [0, 0],
    [0, 1],
    [0, 3],
    [0, 3],
    [0, 4],
    [0, null],
    [1, 2],
    [1, 2],
    [1, 5],
    [1, null],
    [2, null],
    [2, 0],
    [1, 3],
  ] as [number, number | null][]),
);
const ask: fc.Arbitrary<AskFor> = fc
  .record({ ref: refs(75), payer, price, ttlMs: fc.constantFrom(60_000, 3_600_000, 100_000_000) })
  .map(({ payer: [of, with_], ...rest }) => ({ ...rest, account: of, key: with_ }));
/** The parent of a key, or its first child, or none. */
function relativeOf(key: number | null): number | null {
  if (key === null) return null;
  const child = KEYS.findIndex(({ parent }) => parent === key);
  return KEYS[key]?.parent ?? (child === -1 ? null : child);
}
/** Mostly of one account, so that holds compete. */
const asks = fc
  .tuple(fc.array(ask, { minLength: 1, maxLength: 9 }), payer, fc.boolean())
  .map(([some, [of, with_], together]) =>
    together
      ? some.map((one, index) => ({
          ...one,
          account: of,
          key: [with_, relativeOf(with_), null][index % 3] ?? null,
        }))
      : some,
  );
type WayFor = Omit<Way, 'id'> & { ref: Ref };
const way: fc.Arbitrary<WayFor> = fc.record({
  ref: refs(3),
  price,
  resolution: fc.constantFrom('settled', 'settled', 'released'),
});

const keyLimits: fc.Arbitrary<KeyLimits> = fc.record({
  usd: fc.option(fc.bigInt({ min: 0n, max: 30n }), { nil: undefined, freq: 3 }),
  diem: fc.option(fc.bigInt({ min: 0n, max: 15n }), { nil: undefined, freq: 2 }),
  period: fc.constantFrom<LimitPeriod>('EPOCH', 'MONTH', 'LIFETIME'),
});

const commands: fc.WeightedArbitrary<Command>[] = [
  { weight: 4, arbitrary: asks.map((some) => (scene: Scene) => holdBatch(scene, some)) },
  {
    weight: 3,
    arbitrary: fc.array(way, { minLength: 1, maxLength: 9 }).map((ways) => (scene: Scene) => resolveBatch(scene, ways)),
  },
  { weight: 3, arbitrary: ask.map((one) => (scene: Scene) => chargeOnce(scene, one)) },
  {
    weight: 3,
    arbitrary: fc.tuple(refs(70), refs(2), fc.option(price, { nil: undefined })).map(
      ([own, of, part]) =>
        (scene: Scene) =>
          refundOnce(scene, own, of, part),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(refs(80), account, fc.constantFrom('usd', 'usd', 'bundled', 'vcu'), fc.bigInt({ min: 1n, max: 25n }))
      .map(
        ([own, to, currency, value]) =>
          (scene: Scene) =>
            creditOnce(scene, own, to, currency, value),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(refs(80), account, fc.constantFrom('usd', 'bundled', 'vcu', 'diem'), fc.bigInt({ min: -9n, max: 9n }))
      .map(
        ([own, to, currency, value]) =>
          (scene: Scene) =>
            adjustOnce(scene, own, to, currency, value),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat({ max: KEYS.length - 1 }), keyLimits).map(
      ([which, limits]) =>
        (scene: Scene) =>
          limitKey(scene, which, limits),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(account, amount).map(
      ([of, value]) =>
        (scene: Scene) =>
          allocate(scene, of, value),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0.01, 1, 5, 24, 31 * 24).map((hours) => (scene: Scene) => advance(scene, hours)),
  },
  { weight: 1, arbitrary: fc.constant(sweep) },
];

/** Resolves ids while the history runs, because the existing ones depend on earlier commands. */
function nameOf(scene: Scene, ref: Ref): string {
  const { ids } = scene;
  const known = ids.at(-1 - (ref.back % Math.max(1, ids.length)));
  if (!ref.fresh && known !== undefined) return known;
  const fresh = `op${ids.length}`;
  ids.push(fresh);
  return fresh;
}

function texts(parts: Part[]): string {
  const of = (currency: string) => parts.find((part) => part.currency === currency)?.amount ?? 0n;
  return show({ diem: of('diem'), bundled: of('bundled'), usd: of('usd') });
}

/** Returns an error as its code, comparable with outcomes. */
async function orCode(work: Promise<string>): Promise<string> {
  return work.catch((error: { code?: string }) => error.code ?? String(error));
}

function request(scene: Scene, { id: own, account: of, key: with_, price: asked, ttlMs }: Ask) {
  return {
    operationId: scene.prefix + own,
    accountId: scene.accounts[of] ?? '',
    keyId: with_ === null ? null : (scene.keys[with_] ?? ''),
    price: asked,
    ttlMs,
    snapshot: SNAPSHOT,
  };
}

async function holdBatch(scene: Scene, some: AskFor[]): Promise<void> {
  const asked = some.map(({ ref, ...rest }) => ({ ...rest, id: nameOf(scene, ref) }));
  const real = asked.map((one) =>
    orCode(
      scene.ledger.hold(request(scene, one)).then((outcome) => {
        if (outcome.outcome === 'insufficient') return 'insufficient';
        if (outcome.outcome === 'key_limit') return `key_limit ${outcome.currency}`;
        return `held ${texts(outcome.parts)} ${outcome.state}${outcome.replayed ? ' replayed' : ''}`;
      }),
    ),
  );
  expect(await Promise.all(real)).toEqual(scene.model.admit(asked, true));
}

async function chargeOnce(scene: Scene, { ref, ...rest }: AskFor): Promise<void> {
  const one = { ...rest, id: nameOf(scene, ref) };
  const real = await orCode(
    charge(world.pool, request(scene, one)).then((outcome) => {
      if (outcome.outcome === 'insufficient') return 'insufficient';
      if (outcome.outcome === 'key_limit') return `key_limit ${outcome.currency}`;
      return `charged ${texts(outcome.parts)}${outcome.replayed ? ' replayed' : ''}`;
    }),
  );
  expect([real]).toEqual(scene.model.admit([one], false));
}

async function resolveBatch(scene: Scene, some: WayFor[]): Promise<void> {
  const ways = some.map(({ ref, ...rest }) => ({ ...rest, id: nameOf(scene, ref) }));
  const real = ways.map(async ({ id: own, resolution, price: cost }) => {
    const operationId = scene.prefix + own;
    const outcome = await (resolution === 'settled'
      ? scene.ledger.settle({ operationId, price: cost })
      : scene.ledger.release({ operationId }));
    if (outcome.outcome === 'no_hold') return 'no_hold';
    return `${outcome.outcome} ${texts(outcome.parts)}${outcome.replayed ? ' replayed' : ''}`;
  });
  expect(await Promise.all(real)).toEqual(scene.model.resolve(ways));
}

async function refundOnce(scene: Scene, ownRef: Ref, ofRef: Ref, part: LedgerPrice | undefined): Promise<void> {
  const of = nameOf(scene, ofRef);
  const own = nameOf(scene, ownRef);
  const real = await orCode(
    refund(world.pool, {
      operationId: scene.prefix + own,
      chargeOperationId: scene.prefix + of,
      reason: 'model',
      ...(part ? { amount: part } : {}),
    }).then((outcome) => {
      if (outcome.outcome === 'no_charge') return 'no_charge';
      const name = outcome.refundId.slice(scene.prefix.length);
      return `refunded ${name} ${texts(outcome.parts)}${outcome.replayed ? ' replayed' : ''}`;
    }),
  );
  expect(real).toEqual(scene.model.refund(own, of, part));
}

type Money = 'usd' | 'bundled' | 'vcu';

async function creditOnce(scene: Scene, ref: Ref, to: number, currency: string, value: bigint): Promise<void> {
  const own = nameOf(scene, ref);
  const real = await orCode(
    grant(world.pool, {
      operationId: scene.prefix + own,
      accountId: scene.accounts[to] ?? '',
      currency: currency as Money,
      amount: value,
      notes: 'model',
    }).then(({ replayed }) => `posted${replayed ? ' replayed' : ''}`),
  );
  expect(real).toEqual(scene.model.post('grant', own, to, currency, value));
}

async function adjustOnce(scene: Scene, ref: Ref, to: number, currency: string, value: bigint): Promise<void> {
  const own = nameOf(scene, ref);
  if (value === 0n) return;
  const real = await orCode(
    adjust(world.pool, {
      operationId: scene.prefix + own,
      accountId: scene.accounts[to] ?? '',
      currency: currency as Money | 'diem',
      amount: value,
      notes: 'model',
    }).then((outcome) =>
      outcome.outcome === 'insufficient' ? 'insufficient' : `posted${outcome.replayed ? ' replayed' : ''}`,
    ),
  );
  expect(real).toEqual(scene.model.post('adjustment', own, to, currency, value));
}

async function limitKey(scene: Scene, which: number, limits: KeyLimits): Promise<void> {
  await world.setLimits(scene.keys[which] ?? '', limits);
  const modelKey = scene.model.keys[which];
  if (modelKey) modelKey.limits = limits;
}

async function allocate(scene: Scene, of: number, value: bigint): Promise<void> {
  await setDiemAllocation(world.pool, scene.accounts[of] ?? '', value);
  const purse = scene.model.purses[of];
  if (purse) purse.allocation = value;
}

async function advance(scene: Scene, hours: number): Promise<void> {
  scene.model.nowMs += hours * 3_600_000;
  await world.setClock(new Date(scene.model.nowMs).toISOString());
}

async function sweep(scene: Scene): Promise<void> {
  // Also expires holds of earlier histories; only those of this one are compared.
  await expireHolds(world.pool, 10_000);
  scene.model.expire();
}

async function beginScene(number: number): Promise<Scene> {
  await world.setClock(new Date(START).toISOString());
  const accounts = await Promise.all(ALLOCATIONS.map((diem) => world.account({ diem })));
  const keys: string[] = [];
  for (const { account: owner, parent } of KEYS) {
    keys.push(await world.key(accounts[owner] ?? '', {}, parent === undefined ? undefined : keys[parent]));
  }
  const model = new LedgerModel(START, ALLOCATIONS, KEYS);
  const scene = {
    model,
    ledger: world.ledger({ maxInFlight: 1 }),
    accounts,
    keys,
    prefix: `${number}:`,
    ids: [],
  };
  for (const to of accounts.keys()) {
    await creditOnce(scene, { fresh: true, back: 0 }, to, 'usd', 24n);
    await creditOnce(scene, { fresh: true, back: 0 }, to, 'bundled', 9n);
  }
  return scene;
}

describe('every history', () => {
  it(
    'has the answers and entries of the model, and leaves sound books',
    async () => {
      let scenes = 0;
      const histories = fc.tuple(
        fc.array(keyLimits, { minLength: KEYS.length, maxLength: KEYS.length }),
        fc.array(fc.oneof(...commands), { minLength: 8, maxLength: 50, size: 'max' }),
      );
      await fc.assert(
        fc.asyncProperty(histories, async ([limits, history]) => {
          scenes += 1;
          const scene = await beginScene(scenes);
          for (const [which, limit] of limits.entries()) await limitKey(scene, which, limit);
          for (const command of history) {
            await command(scene);
            for (const [index, accountId] of scene.accounts.entries()) {
              expect(await world.balance(accountId)).toEqual(scene.model.describe(index));
            }
          }
          // Expires forgotten holds, so that a later history does not find them overdue.
          await advance(scene, 24 * 400);
          await sweep(scene);
          await world.expectSound();
        }),
        { numRuns: RUNS, endOnFailure: false },
      );
    },
    RUNS * 4_000,
  );
});
