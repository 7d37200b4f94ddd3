/** Periodic maintenance: a second line behind the workflows. Each task does a bounded piece and can be repeated. */
import { Context } from '@temporalio/activity';
import { WEBHOOK_PAUSES_MS } from '../domain/webhooks.ts';
import { failpoint } from '../infra/failpoints.ts';
import type { Logger } from '../infra/log.ts';
import { purgeVoices } from '../infra/postgres/clonedVoices.ts';
import { purgeClosedOrders } from '../infra/postgres/closedOrders.ts';
import { type DueHold, expireHolds } from '../infra/postgres/holdExpiry.ts';
import { purgeIdempotencyKeys } from '../infra/postgres/idempotency.ts';
import { type DueJob, dueJobs, liveJobs } from '../infra/postgres/jobs.ts';
import { purgeWebhooks, type UnsentEvent, unsentEvents } from '../infra/postgres/jobWebhooks.ts';
import { preparePartitions } from '../infra/postgres/partitions.ts';
import { purgeRpcAnswers } from '../infra/postgres/rpcAnswers.ts';
import { purgeSignInNonces } from '../infra/postgres/signInNonces.ts';
import { type PendingTopUp, pendingTopUps } from '../infra/postgres/topUps.ts';
import { INCOMING, OUTPUT, queueIdOf } from '../infra/s3/objectKeys.ts';
import type { StoredObject } from '../infra/s3/storage.ts';
import { holdsExpired } from '../infra/telemetry/counters.ts';
import type { UpkeepDuty, UpkeepOptions } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { endJob, removeMedia } from './endJob.ts';

const PAGE = 500;
/** Page size of rows that nothing depends on. */
const LARGE_PAGE = 5_000;
const HOUR_MS = 3_600_000;
/** An object without a job may belong to an order that is being accepted. */
const ORPHAN_GRACE_MS = HOUR_MS;
/** The workflow of a job ends it in time; a job past this time is ended here. */
const OVERDUE_GRACE_MS = 180_000;
const IDEMPOTENCY_LIFE_MS = 24 * HOUR_MS;
/** Time after the end of a job for which its webhook deliveries are kept. */
const WEBHOOK_PAGE = { olderThanMs: 30 * 24 * HOUR_MS, limit: PAGE };
/** A payment at which nothing happened for so long may have lost its workflow; most wait for their chain. */
const TOP_UP_GRACE_MS = 60_000;
/** The workflow of a job tells its events within a second; who has not after this is gone. */
const UNTOLD = { graceMs: 300_000, withinMs: 7 * 24 * HOUR_MS };

export async function performDuty(
  dependencies: ActivityDependencies,
  duty: UpkeepDuty,
  options: UpkeepOptions = {},
): Promise<{ done: number }> {
  const { pool } = dependencies;
  switch (duty) {
    case 'expireHolds':
      return { done: await expireDueHolds(dependencies) };
    case 'sweepObjects':
      return { done: await sweepObjects(dependencies, options.orphanGraceMs ?? ORPHAN_GRACE_MS) };
    case 'reconcileJobs':
      return { done: await reconcileJobs(dependencies) };
    case 'purgeIdempotencyKeys':
      return { done: await forget(dependencies) };
    case 'purgeSignInNonces':
      return { done: await inPages({ size: LARGE_PAGE, purge: () => purgeSignInNonces(pool, LARGE_PAGE) }) };
    case 'tellUntold':
      return { done: await tellUntold(dependencies) };
    case 'purgeWebhooks':
      return { done: await inPages({ size: PAGE, purge: () => purgeWebhooks(pool, WEBHOOK_PAGE) }) };
    case 'reconcileTopUps':
      return { done: await reconcileTopUps(dependencies, options.topUpGraceMs ?? TOP_UP_GRACE_MS) };
    case 'preparePartitions':
      return { done: await preparePartitions(pool) };
  }
}

/** Keys, answers, closed orders and cloned voices are remembered for as long as somebody may still come with them. */
async function forget({ pool }: ActivityDependencies): Promise<number> {
  const page = { olderThanMs: IDEMPOTENCY_LIFE_MS, limit: LARGE_PAGE };
  return await inPages(
    { size: LARGE_PAGE, purge: () => purgeIdempotencyKeys(pool, page) },
    { size: PAGE, purge: () => purgeVoices(pool, PAGE) },
    // Answers are up to a megabyte each.
    { size: PAGE, purge: () => purgeRpcAnswers(pool, { ...page, limit: PAGE }) },
    { size: LARGE_PAGE, purge: () => purgeClosedOrders(pool, page) },
  );
}

interface Purge {
  size: number;
  /** Purges a page; how many rows it had. */
  purge(): Promise<number>;
}

/**
 * A page of each in turns, until a page is not full any more: one that has no end hides no other. What one run does not come
 * to, the next attempt goes on with.
 */
async function inPages(...purges: Purge[]): Promise<number> {
  let done = 0;
  for (let open = purges; open.length > 0; ) {
    const full: Purge[] = [];
    for (const each of open) {
      const count = await each.purge();
      done += count;
      if (count >= each.size) full.push(each);
      beat();
    }
    open = full;
  }
  return done;
}

/** Looks at every row, page by page: one that stays where it is does not hide those behind it. */
async function walk<Row>(
  read: (after: Row | undefined) => Promise<Row[]>,
  visit: (row: Row) => Promise<boolean>,
): Promise<number> {
  let done = 0;
  let rows: Row[] = [];
  do {
    rows = await read(rows.at(-1));
    for (const row of rows) {
      beat();
      if (await visit(row)) done += 1;
    }
  } while (rows.length === PAGE);
  return done;
}

/** Says that this duty is alive; throws when it was given up and another attempt may be under way. */
function beat(): void {
  const context = Context.current();
  context.heartbeat();
  context.cancellationSignal.throwIfAborted();
}

/** One that is damaged stays, is named, and keeps no other from its end. */
async function expireDueHolds({ pool, log }: ActivityDependencies): Promise<number> {
  let done = 0;
  let after: DueHold | undefined;
  do {
    const { expired, failed, last } = await expireHolds(pool, PAGE, after);
    done += expired;
    holdsExpired.inc({ outcome: 'expired' }, expired);
    holdsExpired.inc({ outcome: 'failed' }, failed.length);
    for (const { operationId, error } of failed) {
      log.error({ operationId, err: error }, 'a hold cannot expire');
    }
    beat();
    after = last;
  } while (after);
  return done;
}

/** Removes objects that no job needs: no row, or a job that has ended, and older than the grace. */
async function sweepObjects(dependencies: ActivityDependencies, graceMs: number): Promise<number> {
  let removed = 0;
  for (const prefix of [INCOMING, OUTPUT]) {
    let next: string | undefined;
    do {
      const page = await dependencies.storage.list(prefix, next);
      const old = page.objects.filter((object) => page.at.getTime() - object.modifiedAt.getTime() > graceMs);
      await failpoint('sweep-listed');
      removed += await removeOrphans(dependencies, prefix, old);
      next = page.next;
      beat();
    } while (next);
  }
  return removed;
}

async function removeOrphans(
  dependencies: ActivityDependencies,
  prefix: string,
  objects: StoredObject[],
): Promise<number> {
  const ids = objects.flatMap((object) => queueIdOf(object.key) ?? []);
  const live = await liveJobs(dependencies.pool, [...new Set(ids)]);
  let removed = 0;
  for (const object of objects) {
    const queueId = queueIdOf(object.key);
    const state = queueId === undefined ? undefined : live.get(queueId);
    // A stored job needs its output only; a running one may still need both.
    if (state !== undefined && !(state === 'stored' && prefix === INCOMING)) continue;
    await dependencies.storage.remove(object.key);
    removed += 1;
  }
  return removed;
}

/**
 * Jobs that should have ended long ago, whatever their workflow says: refunded where there is no output, and rid of their
 * media where the retention is over. The row decides, so a workflow that comes back to life changes nothing.
 */
async function reconcileJobs(dependencies: ActivityDependencies): Promise<number> {
  const { pool, log } = dependencies;
  const end = async (due: 'unfinished' | 'stored', step: (queueId: string) => Promise<unknown>) =>
    await walk(
      (after: DueJob | undefined) => dueJobs(pool, { due, graceMs: OVERDUE_GRACE_MS, limit: PAGE, after }),
      ({ queueId, state, at }) =>
        attempt(log, { queueId, state, dueAt: at }, async () => {
          await step(queueId);
          return true;
        }),
    );
  const ended = await end('unfinished', (queueId) => endJob(dependencies, { queueId, ...TIMED_OUT }));
  return ended + (await end('stored', (queueId) => removeMedia(dependencies, { queueId, as: 'expired' })));
}

/** One that cannot be reconciled now does not keep the others waiting. */
async function attempt(log: Logger, named: object, step: () => Promise<boolean>): Promise<boolean> {
  try {
    const isDone = await step();
    if (isDone) log.warn(named, 'reconciled: its workflow did not do it');
    return isDone;
  } catch (err) {
    log.error({ err, ...named }, 'not reconciled: the next run tries again');
    return false;
  }
}

const TIMED_OUT = {
  state: 'timed_out',
  failure: { code: 'timed_out', message: 'The job did not finish in time.' },
} as const;

/** Has the events told whose own workflow is gone: a job that was reconciled, or one that was terminated by hand. */
async function tellUntold(dependencies: ActivityDependencies): Promise<number> {
  const { pool, log } = dependencies;
  return await walk(
    (after: UnsentEvent | undefined) => unsentEvents(pool, { ...UNTOLD, limit: PAGE, after }),
    ({ queueId, accountId, event }) =>
      attempt(log, { queueId, event }, async () => {
        await dependencies.startWebhook({ queueId, accountId, event, pausesMs: WEBHOOK_PAUSES_MS });
        return true;
      }),
  );
}

/** Has payments seen through whose workflow is gone: terminated by hand, or lost with its server. */
async function reconcileTopUps(dependencies: ActivityDependencies, olderThanMs: number): Promise<number> {
  const { pool, log } = dependencies;
  return await walk(
    (after: PendingTopUp | undefined) => pendingTopUps(pool, { olderThanMs, limit: PAGE, after }),
    ({ paymentId, accountId, payment, decimals, requestId, state }) =>
      attempt(log, { paymentId, state }, async () => {
        if (!payment || (await dependencies.isWorkflowOpen(paymentId))) return false;
        await dependencies.startTopUp({ paymentId, accountId, requestId, payment, decimals });
        return true;
      }),
  );
}
