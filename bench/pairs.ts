/**
 * Compares an older build with this one on the same machine in one run: `npm run bench -- pairs --old FOLDER`. Both use
 * the same servers, each with its own database, bucket, Redis number and namespace. One is idle while the other is
 * measured. Turns of some seconds follow in the order old, new, new, old, so that a drift of the machine affects both.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../dev/stack/parts/postgres.ts';
import { openParts, type Services } from '../test/harness/parts.ts';
import type { Spawned } from '../test/harness/spawn.ts';
import { databaseOf } from '../test/harness/template.ts';
import { openProduct as openChat, SETTLE_MS, streamed } from './chat.ts';
import { readStreams } from './chatStreams.ts';
import { type Checkout, openCheckout } from './checkout.ts';
import { pinToSecondCore, postgresPids } from './cores.ts';
import { CONFIGURATION, openProduct as openJobs } from './jobs.ts';
import {
  type LeanRequest,
  LOAD_CONNECTIONS,
  PAUSED_CONNECTIONS,
  sendWithoutPause,
  sendWithPauses,
} from './leanClient.ts';
import { openProduct as openRpc } from './rpc.ts';
import { medianInterval, percentile, round } from './statistics.ts';
import { toneWav } from './wav.ts';
import { openWorldOn, pinToOneCore, type World } from './world.ts';

const SIDES = ['old', 'new'] as const;
type Pair<T> = Record<(typeof SIDES)[number], T>;

/** Figures of one turn of one side. Rates should be high, waits (in milliseconds) low. */
interface TurnFigures {
  rates: Record<string, number>;
  waits?: Record<string, number>;
}

type Turn = (length: 'warm-up' | 'measured') => Promise<TurnFigures>;

interface Group {
  config: object;
  /** Script in bench/floor that serves as upstream for both sides. */
  upstream?: string;
  /** `pinned` runs on a core that it shares with the idle side. The servers get the other core. */
  open(world: World, upstream: string, checkout: Checkout): Promise<{ pinned?: Spawned; turn: Turn }>;
}

/** Groups that pin come last, because processes started after them inherit the core of this one. */
const GROUPS: Record<string, Group> = {
  jobs: { config: CONFIGURATION, open: openJobTurns },
  ledger: { config: {}, open: openLedgerTurns },
  chat: { config: {}, upstream: 'chatUpstream', open: openChatTurns },
  rpc: { config: {}, upstream: 'rpcNode', open: openRpcTurns },
};
export const PAIRS_GROUPS: readonly string[] = Object.keys(GROUPS);

export interface PairsOptions {
  /** Folder of the older checkout, built. */
  old: string;
  /** Names of groups. Default: all. */
  only?: readonly string[];
  pairs?: number;
}

export async function comparePairs({ old, only, pairs = 15 }: PairsOptions): Promise<{ ok: boolean }> {
  const checkouts = { old: await openCheckout(old), new: await openCheckout() };
  let ok = true;
  for (const [name, group] of Object.entries(GROUPS)) {
    if (only && !only.includes(name)) continue;
    const measured = await measureGroup({ name, group, checkouts, pairs });
    ok = reportRatios(name, measured) && ok;
  }
  return { ok };
}

interface GroupRun {
  name: string;
  group: Group;
  checkouts: Pair<Checkout>;
  pairs: number;
}

async function measureGroup({ name, group, checkouts, pairs }: GroupRun): Promise<Pair<TurnFigures>[]> {
  const parts = await openParts({ durable: true });
  const worlds: World[] = [];
  try {
    for (const side of SIDES) {
      const services = await servicesOf(parts.services, `${name}-${side}`, worlds.length);
      worlds.push(await openWorldOn(services, group.config, checkouts[side]));
    }
    const turns = await openTurns(group, worlds as [World, World], checkouts);
    for (const side of SIDES) await turns[side]('warm-up');
    const measured: Pair<TurnFigures>[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      const figures: Partial<Pair<TurnFigures>> = {};
      for (const side of pair % 2 === 0 ? SIDES : SIDES.toReversed()) {
        figures[side] = await turns[side]('measured');
      }
      measured.push(figures as Pair<TurnFigures>);
    }
    return measured;
  } finally {
    for (const world of worlds) await world.close();
    await parts.close();
  }
}

async function servicesOf(shared: Services, name: string, number: number) {
  const database = name.replace('-', '_');
  await query(shared.databaseUrl, `create database ${database}`);
  const folder = path.join(shared.folder, name);
  mkdirSync(folder);
  return {
    ...{ ...shared, folder, bucket: name },
    databaseUrl: databaseOf(shared.databaseUrl, database),
    redisUrl: `${shared.redisUrl}/${number}`,
  };
}

async function openTurns(
  { upstream: floor, open }: Group,
  [oldWorld, newWorld]: [World, World],
  checkouts: Pair<Checkout>,
): Promise<Pair<Turn>> {
  const upstream = floor === undefined ? undefined : await newWorld.startFloor(floor);
  const origin = upstream?.origin ?? '';
  const sides = {
    old: await open(oldWorld, origin, checkouts.old),
    new: await open(newWorld, origin, checkouts.new),
  };
  const pinned = [sides.old.pinned, sides.new.pinned].filter((process) => process !== undefined);
  if (pinned.length > 0) {
    await pinToOneCore(newWorld, pinned);
    const others = upstream ? [upstream.pid] : [];
    for (const pid of [...others, ...(await postgresPids(newWorld))]) await pinToSecondCore(pid);
  }
  return { old: sides.old.turn, new: sides.new.turn };
}

const WARM_UP_S = 20;
const TURN_S = 3;
const STREAMS = 128;

async function openChatTurns(world: World, upstream: string) {
  const { api, target } = await openChat(world, upstream);
  const turn: Turn = async (length) => {
    const many = await requestsPerSecond(target, length === 'warm-up' ? WARM_UP_S : TURN_S);
    const waits = await sendWithPauses(target);
    const { firstMs, lost } = await readStreams(streamed(target), STREAMS);
    if (lost > 0) throw new Error(`${lost} frames were lost`);
    return {
      rates: { [`req/s at ${LOAD_CONNECTIONS} connections`]: many },
      waits: {
        [`p50 ms at ${PAUSED_CONNECTIONS} connections`]: percentile(waits, 0.5),
        [`first frame p50 ms at ${STREAMS} streams`]: percentile(firstMs, 0.5),
        [`first frame p99 ms at ${STREAMS} streams`]: percentile(firstMs, 0.99),
      },
    };
  };
  return { pinned: api, turn };
}

async function openRpcTurns(world: World, upstream: string) {
  const { api, targets } = await openRpc(world, upstream);
  const turn: Turn = async (length) => {
    const rates: Record<string, number> = {};
    for (const [name, target] of Object.entries(targets)) {
      rates[`${name} req/s`] = await requestsPerSecond(target, length === 'warm-up' ? WARM_UP_S / 2 : 2);
    }
    return { rates };
  };
  return { pinned: api, turn };
}

async function requestsPerSecond(target: LeanRequest, seconds: number): Promise<number> {
  const { perSecond, failed } = await sendWithoutPause(target, { connections: LOAD_CONNECTIONS, seconds });
  if (failed > 0) throw new Error(`${failed} requests failed`);
  await sleep(SETTLE_MS);
  return perSecond;
}

async function openJobTurns(world: World) {
  const source = path.join(world.folder, 'source.wav');
  writeFileSync(source, toneWav(2));
  const order = await openJobs(world, source);
  const turn: Turn = async (length) => {
    const many = await order(16, length === 'warm-up' ? 400 : 80);
    const single = await order(1, 20);
    return {
      rates: { 'jobs/s, 16 in flight': many.perSecond },
      waits: {
        'accepted p50 ms, one at a time': percentile(single.answeredMs, 0.5),
        'finished p50 ms, one at a time': percentile(single.finishedMs, 0.5),
      },
    };
  };
  return { turn };
}

async function openLedgerTurns(world: World, _: string, { folder }: Checkout) {
  const ledger = await world.startFloor('ledgerTurns', { BENCH_CHECKOUT: folder });
  const turn: Turn = async (length) => {
    const seconds = length === 'warm-up' ? WARM_UP_S / 2 : TURN_S;
    const rates: Record<string, number> = {};
    for (const accounts of [1, 100]) {
      const answer = await fetch(`${ledger.origin}/?accounts=${accounts}&seconds=${seconds}`);
      if (!answer.ok) throw new Error(await answer.text());
      const { pairsPerSecond } = (await answer.json()) as { pairsPerSecond: number };
      rates[`hold + settle/s, ${accounts === 1 ? 'one hot account' : `${accounts} accounts`}`] = pairsPerSecond;
    }
    return { rates };
  };
  return { pinned: ledger, turn };
}

/** A figure counts as slower only when the whole interval of its ratio is below 1. */
function reportRatios(name: string, measured: readonly Pair<TurnFigures>[]): boolean {
  const rows = [...ratiosOf(measured, 'rates'), ...ratiosOf(measured, 'waits')];
  console.log(`${name}: speed of the new build by that of the old one, ${measured.length} pairs of turns`);
  console.table(
    rows.map(({ figure, old, new: now, ratio }) => ({
      figure,
      ...{ old: round(old), new: round(now) },
      'median ratio': ratio.median.toFixed(3),
      '95 % interval': `${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)}`,
      judged: ratio.high >= 1 ? 'not slower' : 'SLOWER',
    })),
  );
  return rows.every(({ ratio }) => ratio.high >= 1);
}

function ratiosOf(measured: readonly Pair<TurnFigures>[], kind: keyof TurnFigures) {
  return Object.keys(measured[0]?.new[kind] ?? {}).map((figure) => {
    const of = (side: (typeof SIDES)[number]) => measured.map((pair) => pair[side][kind]?.[figure] ?? Number.NaN);
    const [old, now] = [of('old'), of('new')];
    const ratios = now.map((value, pair) => {
      const was = old[pair] ?? Number.NaN;
      return kind === 'rates' ? value / was : was / value;
    });
    return { figure, old: percentile(old, 0.5), new: percentile(now, 0.5), ratio: medianInterval(ratios) };
  });
}
