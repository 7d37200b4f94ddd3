/**
 * Kills every process of the stack at random under jobs of every kind. No job is lost, charged twice or charged without
 * media, every client is notified, and nothing is left behind. `FAREBOX_TEST_SEED` repeats a run's choices.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { processEnvironment } from '../../infra/config/environment.ts';
import { type MediaServer, startMediaServer } from '../acceptance/generation/mediaServer.ts';
import { type HookReceiver, openReceiver } from '../acceptance/hookReceiver.ts';
import { until } from '../harness/until.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { auditStack } from './auditStack.ts';
import { errandsFor, quotesOf, runErrand } from './crowd.ts';
import { diagnose } from './diagnose.ts';
import type { Payer } from './payer.ts';
import { createChance } from './random.ts';
import { STACK_PARTS, type Stack, startStack } from './stack.ts';
import { openStackTools, type StackTools } from './stackTools.ts';
import { crowdConfig, waresWith } from './wares.ts';

const JOBS = longRun(60, 500);
const CHAOS_MS = longRun(40_000, 300_000);
const PAYERS = 5;
/** Longest time between ends of jobs after the last kill (JOB-11). Their number depends on the machine. */
const MAX_PAUSE_MS = 120_000;
/** Measured from the start of a job. Only a hanging job reaches it. */
const JOB_LIMIT_MS = CHAOS_MS + 300_000;
const seed = Number(processEnvironment().FAREBOX_TEST_SEED ?? Date.now() % 1_000_000);

it(
  `${JOBS} mixed jobs under random kills of every part: 0 lost, 0 double charged, 0 unrefunded, 0 orphan objects (seed ${seed})`,
  async () => {
    process.stderr.write(`chaos: FAREBOX_TEST_SEED=${seed}\n`);
    const [media, receiver] = await Promise.all([startMediaServer(), openReceiver()]);
    const accounts = Array.from({ length: PAYERS }, () => randomUUID());
    try {
      const stack = await startStack('chaos', crowdConfig([media.host, receiver.host], accounts));
      await inStack(stack, async (tools) => {
        const payers = await Promise.all(accounts.map((id) => tools.createPayer(id)));
        const report = await play({ stack, tools, payers, media, receiver });
        process.stderr.write(`chaos: ${JSON.stringify(report)}\n`);
        expect(report.maxPauseMs).toBeLessThan(MAX_PAUSE_MS);
      });
    } finally {
      media.close();
      receiver.close();
    }
  },
  JOB_LIMIT_MS + 240_000,
);

/** Stops the stack at the end. A failure includes the logs of the processes. */
async function inStack(stack: Stack, work: (tools: StackTools) => Promise<void>): Promise<void> {
  const tools = openStackTools(stack);
  try {
    await work(tools);
  } catch (error) {
    process.stderr.write(`${stack.log().slice(-4_000)}\n`);
    for (const part of ['api', 'worker'] as const) {
      process.stderr.write(`--- ${part}\n${stack.logOf(part).slice(-6_000)}\n`);
    }
    throw new Error(`${String(error)}\n${await diagnose(stack, tools)}`, { cause: error });
  } finally {
    await tools.close();
    await stack.stop();
  }
}

interface Scene {
  stack: Stack;
  tools: StackTools;
  payers: readonly Payer[];
  media: MediaServer;
  receiver: HookReceiver;
}

async function play({ stack, tools, payers, media, receiver }: Scene) {
  const chance = createChance(seed);
  const { baseUrl } = stack.dev;
  const wares = waresWith(media);
  const quotes = await quotesOf({ baseUrl: () => baseUrl, secret: payers[0]?.secret ?? '' }, wares);
  const crowd = { payers, wares, count: JOBS, withinMs: CHAOS_MS * 0.9, hookUrl: receiver.url };
  const endTimes: number[] = [];
  const errands = errandsFor(crowd, chance).map((each) =>
    runErrand(baseUrl, each, JOB_LIMIT_MS).finally(() => endTimes.push(Date.now())),
  );
  const ended = Promise.allSettled(errands);
  const kills = await killAtRandom(stack, chance);
  const lastKillAt = Date.now();
  const results = await ended;
  const healMs = Date.now() - lastKillAt;
  const maxPauseMs = longestPause(lastKillAt, endTimes);
  // Jobs may end without the part that was killed last, and a part that died often restarts only after seconds.
  let missing: string[] = [];
  const isBack = async () => {
    missing = await missingParts(stack, tools);
    return missing.length === 0;
  };
  await until('every part is back', isBack, MAX_PAUSE_MS).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${missing.join('; ')}`);
  });
  return { kills, healMs, maxPauseMs, ...(await auditStack(tools, { payers, results, quotes, receiver })) };
}

/** Longest time between two ends of jobs after `since`, in ms. */
function longestPause(since: number, endTimes: readonly number[]): number {
  const times = [since, ...endTimes.filter((time) => time > since)];
  return Math.max(0, ...times.slice(1).map((time, index) => time - (times[index] ?? since)));
}

const ASK_LIMIT_MS = 10_000;

/** A part killed a moment ago may still seem to run, so another process must have replaced it first. */
async function missingParts(stack: Stack, { pool, storage, temporal }: StackTools): Promise<string[]> {
  const dead = stack.unreplaced();
  if (dead.length > 0) return dead;
  const asked = await Promise.allSettled([
    pool.query('select 1'),
    storage.list('output/'),
    temporal.within(ASK_LIMIT_MS, (client) => client.workflow.count()),
  ]);
  return asked.flatMap((each) => (each.status === 'rejected' ? String(each.reason) : []));
}

/** Kills each part once in random order, then random parts. Returns the kills of each. */
async function killAtRandom(stack: Stack, chance: ReturnType<typeof createChance>): Promise<Record<string, number>> {
  const kills: Record<string, number> = {};
  const first = chance.shuffle(STACK_PARTS);
  const endAt = Date.now() + CHAOS_MS;
  while (Date.now() < endAt) {
    await sleep(chance.between(1_000, 3_000));
    const part = first.shift() ?? chance.pick(STACK_PARTS);
    if (stack.kill(part)) kills[part] = (kills[part] ?? 0) + 1;
  }
  return kills;
}
