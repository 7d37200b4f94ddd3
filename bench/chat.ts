/**
 * A chat request with everything it is billed by (key, limits, hold, settle) against a bare Koa route that passes the same
 * request through. One core for each of the two; the text service, Postgres, Redis and the load have the other.
 */
import { readStreams, type StreamFigures } from './chatStreams.ts';
import { onTheOtherCore, postgresPids } from './cores.ts';
import {
  askWithoutPause,
  type LeanRequest,
  type LoadFigures,
  MANY,
  measureInTurns,
  printLoads,
  WARM_UP,
} from './leanClient.ts';
import { residentMb } from './memory.ts';
import { type Pace, reachesAtPace } from './pace.ts';
import { percentile, reachesBars, round } from './statistics.ts';
import { configure, openWorld, pinToOneCore, type World } from './world.ts';

const ROUNDS = 3;
export const SETTLE_MS = 500;
/** The pass-through is asked in turns with the product: a pause of the machine makes frames of either late. */
const STREAM_TURNS = 5;

/** Of the bare pass-through where the bars were set. */
const SET_AT = 25_000;

const PRICE = { usd: 0.1, diem: 0.1 };
const PLENTY = 1_000_000_000;

type ChatSides = Record<'floor' | 'durable' | 'product', LoadFigures>;

export async function run(options: { seconds?: number; requests?: number } = {}): Promise<{ ok: boolean }> {
  const seconds = options.seconds ?? 4;
  const world = await openWorld({});
  try {
    const { targets, pid } = await openSides(world);
    const { floor, product } = targets;
    const turns = { seconds, rounds: ROUNDS, warmUp: WARM_UP, settleMs: SETTLE_MS };
    const sides = await measureInTurns(targets, turns);
    const pace = { floor: percentile(sides.floor.perSecond, 0.5), set: SET_AT };
    const reached = judgeRate(sides, pace);
    const inTime = await streams({ floor, product }, pace);
    const flat = await memory(pid, product, options.requests ?? 200_000);
    return { ok: reached && inTime && flat };
  } finally {
    await world.close();
  }
}

/** An API process that asks the text service at `upstream` and does not limit these accounts. */
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

/** Such an API process, and a request that its payer makes. */
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
  for (const pid of [upstream.pid, ...(await postgresPids(world))]) await onTheOtherCore(pid);
  const targets = {
    floor: requestOf(pass.origin, inference),
    // The floor with two commits, for what the machine takes for them; the bars are against the floor.
    durable: requestOf(durable.origin, inference),
    product: target,
  };
  return { targets, pid: api.pid };
}

/** The same, its answer as a stream. */
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

function judgeRate(sides: ChatSides, pace: Pace): boolean {
  const { floor, durable, product } = sides;
  console.log('chat: key, limits, durable hold and settle, against a bare pass-through; on one core');
  printLoads(sides);
  const ratio = percentile(product.perSecond, 0.5) / pace.floor;
  const over = (side: LoadFigures, share: number) => percentile(side.waitsMs, share) - percentile(floor.waitsMs, share);
  const isQuick = reachesBars([['req/s ÷ floor', ratio, '≥', 0.2]]);
  const half = reachesAtPace(pace, { name: 'added p50', ms: over(product, 0.5), barMs: 2 });
  console.log(`  of which two commits of one row take, ms: ${round(over(durable, 0.5))}`);
  const most = reachesAtPace(pace, { name: 'added p99', ms: over(product, 0.99), barMs: 10 });
  return isQuick && half && most && product.failed === 0;
}

type Targets = Record<'floor' | 'product', LeanRequest>;

async function streams({ floor, product }: Targets, pace: Pace): Promise<boolean> {
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
  console.log(`  512 streams, by turn: ${tellTurns(all.product)}`);
  console.log(`  the same of the pass-through: ${tellTurns(all.floor)}`);
  const latestMs = percentile(
    all.product.map((figures) => figures.latestMs),
    0.5,
  );
  const inTime = reachesAtPace(pace, {
    name: 'the latest frame, median of the turns',
    ms: latestMs,
    barMs: 50,
  });
  const begun = { name: 'added to the first frame at 128 streams, p99', ms: added, barMs: 5 };
  return reachesAtPace(pace, begun) && inTime && all.product.every(({ lost }) => lost === 0);
}

function tellTurns(turns: readonly StreamFigures[]): string {
  const each = (tell: (figures: StreamFigures) => number) =>
    turns.map((figures) => Math.round(tell(figures))).join(' · ');
  const late = each((figures) => figures.late);
  const latest = each(({ latestMs }) => latestMs);
  return `frames lost ${each(({ lost }) => lost)}; late by more than 50 ms ${late}; the latest ${latest} ms`;
}

async function memory(pid: number, target: LeanRequest, requests: number): Promise<boolean> {
  const readings = [residentMb(pid)];
  for (let done = 0; done < requests; ) {
    const { perSecond } = await askWithoutPause(target, { connections: MANY, seconds: 8 });
    done += perSecond * 8;
    readings.push(residentMb(pid));
  }
  const end = readings.at(-1) ?? 0;
  console.log(`  memory over ${requests} requests, MB resident: ${readings.map(Math.round).join(' · ')} (≤ 200)`);
  return end <= 200;
}
