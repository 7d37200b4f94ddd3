/**
 * Chat requests with key, limits, hold and settle, against a bare Koa route that passes the same requests through. The
 * product and the floor have one core. The text service, Postgres, Redis and the load have the other.
 */
import { readStreams, type StreamFigures } from './chatStreams.ts';
import { pinToSecondCore, postgresPids } from './cores.ts';
import {
  type LeanRequest,
  LOAD_CONNECTIONS,
  type LoadFigures,
  measureInTurns,
  printLoads,
  sendWithoutPause,
  WARM_UP_TURNS,
} from './leanClient.ts';
import { residentMb } from './memory.ts';
import { type FloorRates, reachesScaledBar } from './reachesScaledBar.ts';
import { percentile, reachesBars, round } from './statistics.ts';
import { configure, openWorld, pinToOneCore, type World } from './world.ts';

const ROUNDS = 3;
export const SETTLE_MS = 500;
/** Turns of the floor alternate with turns of the product, because a pause of the machine delays frames of both. */
const STREAM_TURNS = 5;

/** Requests per second of the floor on the machine where the bars were set. */
const REFERENCE_FLOOR_RATE = 25_000;

const PRICE = { usd: 0.1, diem: 0.1 };
const PLENTY = 1_000_000_000;

type ChatSides = Record<'floor' | 'durable' | 'product', LoadFigures>;

export async function benchmarkChat(options: { seconds?: number; requests?: number } = {}): Promise<{ ok: boolean }> {
  const seconds = options.seconds ?? 4;
  const world = await openWorld({});
  try {
    const { targets, pid } = await openSides(world);
    const { floor, product } = targets;
    const turns = { seconds, rounds: ROUNDS, warmUpTurns: WARM_UP_TURNS, settleMs: SETTLE_MS };
    const sides = await measureInTurns(targets, turns);
    const floorRates = { measured: percentile(sides.floor.perSecond, 0.5), reference: REFERENCE_FLOOR_RATE };
    const reached = reportRates(sides, floorRates);
    const inTime = await measureStreams({ floor, product }, floorRates);
    const flat = await measureMemory(pid, product, options.requests ?? 200_000);
    return { ok: reached && inTime && flat };
  } finally {
    await world.close();
  }
}

/** Starts an API process whose chat model is at `upstream`. These accounts have no limits. */
export async function startChatApi(world: World, upstream: string, accountIds: readonly string[]) {
  const noLimits = { requestsPerMinute: PLENTY, tokensPerMinute: PLENTY };
  const config = {
    providers: { mock: { kind: 'openai', baseUrl: `${upstream}/v1`, allowPrivateNetwork: true } },
    models: [
      {
        ...{ id: 'bench-chat', type: 'text', provider: 'mock', privacy: 'private' },
        spec: { name: 'Bench', availableContextTokens: 32_768, pricing: { input: PRICE, output: PRICE } },
      },
    ],
    limits: { overrides: Object.fromEntries(accountIds.map((id) => [id, noLimits])) },
  };
  return await world.start('api', configure(world, config));
}

/** Starts the API process and creates a payer with a chat request. */
export async function openProduct(world: World, upstream: string) {
  const { accountId, inference } = await world.createPayer();
  const api = await startChatApi(world, upstream, [accountId]);
  return { api, inference, target: requestOf(api.origin, inference) };
}

async function openSides(world: World) {
  const upstream = await world.startFloor('chatUpstream');
  const { api, inference, target } = await openProduct(world, upstream.origin);
  const pass = await world.startFloor('chatPass', { BENCH_UPSTREAM: upstream.origin });
  const durable = await world.startFloor('chatPass', {
    BENCH_UPSTREAM: upstream.origin,
    BENCH_BILLS: world.environment.DATABASE_URL ?? '',
  });
  await pinToOneCore(world, [api, pass, durable]);
  for (const pid of [upstream.pid, ...(await postgresPids(world))]) await pinToSecondCore(pid);
  const targets = {
    floor: requestOf(pass.origin, inference),
    // Floor with two commits, to show the cost of durability. The bars compare with `floor`.
    durable: requestOf(durable.origin, inference),
    product: target,
  };
  return { targets, pid: api.pid };
}

/** The same request with a streamed answer. */
export function streamed(target: LeanRequest): LeanRequest {
  return { ...target, body: JSON.stringify({ ...JSON.parse(target.body), stream: true }) };
}

function requestOf(origin: string, key: string): LeanRequest {
  return {
    method: 'POST',
    url: `${origin}/api/v1/chat/completions`,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'bench-chat',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'Tell me something about the price of a ride.' },
      ],
    }),
  };
}

function reportRates(sides: ChatSides, floorRates: FloorRates): boolean {
  const { floor, durable, product } = sides;
  console.log('chat: key, limits, durable hold and settle, against a bare pass-through; on one core');
  printLoads(sides);
  const ratio = percentile(product.perSecond, 0.5) / floorRates.measured;
  const over = (side: LoadFigures, share: number) => percentile(side.waitsMs, share) - percentile(floor.waitsMs, share);
  const isQuick = reachesBars([['req/s ÷ floor', ratio, '≥', 0.2]]);
  const half = reachesScaledBar(floorRates, { name: 'added p50', ms: over(product, 0.5), barMs: 2 });
  console.log(`  of which two commits of one row take, ms: ${round(over(durable, 0.5))}`);
  const most = reachesScaledBar(floorRates, { name: 'added p99', ms: over(product, 0.99), barMs: 10 });
  return isQuick && half && most && product.failed === 0;
}

type Targets = Record<'floor' | 'product', LeanRequest>;

async function measureStreams({ floor, product }: Targets, floorRates: FloorRates): Promise<boolean> {
  const first = { floor: [] as number[], product: [] as number[] };
  const all = { floor: [] as StreamFigures[], product: [] as StreamFigures[] };
  for (let turn = 0; turn <= STREAM_TURNS; turn += 1) {
    for (const [side, target] of [
      ['floor', streamed(floor)],
      ['product', streamed(product)],
    ] as const) {
      const { firstMs } = await readStreams(target, 128);
      const figures = await readStreams(target, 512);
      if (turn === 0) continue;
      first[side].push(percentile(firstMs, 0.99));
      all[side].push(figures);
    }
  }
  const added = percentile(first.product, 0.5) - percentile(first.floor, 0.5);
  console.log(`  512 streams, by turn: ${describeTurns(all.product)}`);
  console.log(`  the same of the pass-through: ${describeTurns(all.floor)}`);
  const latestMs = percentile(
    all.product.map((figures) => figures.latestMs),
    0.5,
  );
  const inTime = reachesScaledBar(floorRates, {
    name: 'the latest frame, median of the turns',
    ms: latestMs,
    barMs: 50,
  });
  const begun = { name: 'added to the first frame at 128 streams, p99', ms: added, barMs: 5 };
  return reachesScaledBar(floorRates, begun) && inTime && all.product.every(({ lost }) => lost === 0);
}

function describeTurns(turns: readonly StreamFigures[]): string {
  const each = (figureOf: (figures: StreamFigures) => number) =>
    turns.map((figures) => Math.round(figureOf(figures))).join(' · ');
  const late = each((figures) => figures.late);
  const latest = each(({ latestMs }) => latestMs);
  return `frames lost ${each(({ lost }) => lost)}; late by more than 50 ms ${late}; the latest ${latest} ms`;
}

async function measureMemory(pid: number, target: LeanRequest, requests: number): Promise<boolean> {
  const readings = [residentMb(pid)];
  for (let done = 0; done < requests; ) {
    const { perSecond } = await sendWithoutPause(target, { connections: LOAD_CONNECTIONS, seconds: 8 });
    done += perSecond * 8;
    readings.push(residentMb(pid));
  }
  const end = readings.at(-1) ?? 0;
  console.log(`  memory over ${requests} requests, MB resident: ${readings.map(Math.round).join(' · ')} (≤ 200)`);
  return end <= 200;
}
