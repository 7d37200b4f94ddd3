/**
 * Replaces workers under jobs of every kind: one by one, by a new version, and back. Each job ends and is charged and
 * submitted once, and nothing is left behind.
 */
import { expect, it } from 'vitest';
import { openReceiver } from '../acceptance/hookReceiver.ts';
import { countBy } from '../harness/countBy.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { auditStack } from './auditStack.ts';
import { type ErrandEnd, quotesOf, runErrand } from './crowd.ts';
import { type Fleet, type Orders, openFleet } from './fleet.ts';
import { type Carried, howCarried } from './histories.ts';
import { type KillWorld, openKillWorld } from './killWorld.ts';
import { MIXED_CONFIG, MIXED_WARES, mixedErrand } from './mixedOrders.ts';
import type { Payer } from './payer.ts';

/** Minimum. More are added until each worker has a job in each state. */
const JOBS = longRun(40, 200);
const WAVES = 5;
const YOUNG_WORKERS = longRun(1, 2);
const JOB_LIMIT_MS = 240_000;
const FIRST = 'release-1';
const SECOND = 'release-2';

it(
  `ends at least ${JOBS} jobs with exact charges while workers are replaced, also by another version and back`,
  async () => {
    const world = await openKillWorld(MIXED_CONFIG, { FAREBOX_BUILD_ID: FIRST });
    const fleet = openFleet(world);
    const crowd = openCrowd(world, await Promise.all([1, 2, 3].map(() => rich(world))));
    const startedAt = Date.now();
    try {
      const eras = await replaceWorkers(world, fleet, crowd);
      const ends = await crowd.ends();
      const seconds = (Date.now() - startedAt) / 1_000;
      const report = await audit(world, crowd.payers, ends);
      expect(report.swept).toBe(0);
      const jobs = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      const carried = await howCarried(
        world,
        jobs.map(({ queueId }) => queueId),
      );
      auditVersions(carried, eras);
      const { endedAfterMs } = fleet;
      const silences = countBy(carried.flatMap((each) => each.silences));
      const serverErrors = await countServerErrors(world);
      process.stderr.write(
        `rolling: ${JSON.stringify({ seconds, jobs: jobs.length, ...report, endedAfterMs, silences, serverErrors })}\n`,
      );
    } catch (error) {
      const { rows } = await world.pool.query(
        `select model_id, state, submission, count(*)::integer from jobs group by 1, 2, 3`,
      );
      throw new Error(`${String(error)}\n${JSON.stringify(rows)}`, { cause: error });
    } finally {
      await fleet.killAll();
      await world.close();
    }
  },
  JOB_LIMIT_MS + 300_000,
);

const rich = (world: KillWorld) => world.createPayer({ usdNano: 10n ** 12n });

interface Crowd extends Orders {
  payers: readonly Payer[];
  /** Outcomes of all orders. */
  ends(): Promise<PromiseSettledResult<ErrandEnd>[]>;
}

/** A client completes its job only in the next wave, when other workers than at the start carry it. */
function openCrowd(world: KillWorld, payers: readonly Payer[]): Crowd {
  const runs: Promise<ErrandEnd>[] = [];
  let endWave = () => {};
  let waveOver = Promise.resolve();
  const orderOne = (onAccepted: () => void) => {
    const errand = { ...mixedErrand(payers, runs.length), onAccepted, completeWhen: waveOver };
    const run = runErrand(world.baseUrl, errand, JOB_LIMIT_MS).catch((cause: unknown) => {
      throw new Error(`${errand.idempotencyKey}: ${String(cause)}`, { cause });
    });
    // `ends` reports the error.
    run.catch(() => undefined);
    runs.push(run);
  };
  return {
    payers,
    oneMore: () => orderOne(() => undefined),
    async wave() {
      endWave();
      waveOver = new Promise((resolve) => {
        endWave = resolve;
      });
      await new Promise<void>((resolve) => {
        for (let count = 0; count < JOBS / WAVES; count += 1) orderOne(resolve);
      });
    },
    async ends() {
      endWave();
      return await Promise.allSettled(runs);
    },
  };
}

/** A period with workers of one version only. */
interface Era {
  version: string;
  from: number;
  to: number;
}

async function replaceWorkers(world: KillWorld, fleet: Fleet, orders: Orders): Promise<Era[]> {
  const eras: Era[] = [];
  let old = [world.worker, ...(await fleet.start(FIRST, 1))];
  for (const worker of old) {
    await fleet.occupy([worker], orders);
    const [, others] = await Promise.all([fleet.retire([worker]), fleet.start(FIRST, 1)]);
    old = [...old.filter((each) => each !== worker), ...others];
  }
  let [oldVersion, newVersion, from] = [FIRST, SECOND, 0];
  // Deploys the new version, then the old one again.
  for (let times = 0; times < 2; times += 1) {
    await fleet.occupy(old, orders);
    eras.push({ version: oldVersion, from, to: Date.now() });
    const young = await fleet.start(newVersion, YOUNG_WORKERS);
    await fleet.retire(old);
    from = Date.now();
    old = young;
    [oldVersion, newVersion] = [newVersion, oldVersion];
  }
  await orders.wave();
  return [...eras, { version: oldVersion, from, to: Number.POSITIVE_INFINITY }];
}

/** Jobs begin on the current version and continue on the next. No version fails on the history of another. */
function auditVersions(carried: readonly Carried[], eras: readonly Era[]): void {
  expect(carried.flatMap(({ queueId, failures }) => failures.map((each) => `${queueId}: ${each}`))).toEqual([]);
  for (const { version, from, to } of eras) {
    const begun = carried.filter(({ begunAt }) => begunAt > from && begunAt < to);
    expect(begun.length).toBeGreaterThan(0);
    expect(new Set(begun.map(({ versions }) => versions[0]))).toEqual(new Set([version]));
  }
  const ways = carried.map(({ versions }) => versions.join(' → '));
  expect(ways).toContain(`${FIRST} → ${SECOND}`);
  expect(ways).toContain(`${SECOND} → ${FIRST}`);
}

async function audit(world: KillWorld, payers: readonly Payer[], results: PromiseSettledResult<ErrandEnd>[]) {
  const client = { baseUrl: () => world.baseUrl, secret: payers[0]?.secret ?? '' };
  const quotes = await quotesOf(client, MIXED_WARES);
  // The orders have no webhooks.
  const receiver = await openReceiver();
  const dataFolder = world.environment.FAREBOX_DATA ?? '';
  try {
    return await auditStack({ ...world, dataFolder }, { payers, results, quotes, receiver });
  } finally {
    receiver.close();
  }
}

/** Counts requests with a 5xx response, from the API metrics. The clients retried them. */
async function countServerErrors({ baseUrl }: KillWorld): Promise<number> {
  const text = await (await fetch(new URL('/metrics', baseUrl))).text();
  const counts = text.matchAll(/^farebox_http_request_duration_seconds_count\{.*status="5.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
