/** Prepares the server beside the work: makes this version the current one, and creates the maintenance schedules. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from '../infra/log.ts';
import type { Temporal } from '../infra/temporal/connect.ts';
import { makeCurrent } from './deployment.ts';
import { ensureSchedules } from './schedules.ts';

/** Longer than the server takes to learn of a version from its first poll. */
const TRY_LIMIT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

export interface ServerPreparation {
  temporal: Temporal;
  namespace: string;
  buildId: string;
  log: Logger;
  /** The worker was told to stop. */
  signal: AbortSignal;
}

/**
 * Retries until it succeeds or the worker stops: without schedules no abandoned hold expires and no lost job is
 * refunded.
 */
export async function prepareServer(preparation: ServerPreparation): Promise<void> {
  const { namespace, buildId } = preparation;
  await Promise.all([
    persist(preparation, 'this version is not registered yet', (client) => makeCurrent(client, namespace, buildId)),
    persist(preparation, 'the upkeep schedules are not made yet', ensureSchedules),
  ]);
}

async function persist(
  { temporal, log, signal }: ServerPreparation,
  words: string,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      await temporal.within(TRY_LIMIT_MS, work);
      return;
    } catch (err) {
      log.error({ err, retryAfterMs: pauseMs }, words);
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
