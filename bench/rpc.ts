/**
 * RPC calls with key, limits, hold and settle, against a bare Koa route that passes the same requests through. The
 * product and the floor have one core. The node, Postgres, Redis and the load have the other.
 */
import { pinToSecondCore, postgresPids } from './cores.ts';
import {
  type LeanRequest,
  LOAD_CONNECTIONS,
  type LoadFigures,
  measureInTurns,
  PAUSED_CONNECTIONS,
  WARM_UP_TURNS,
} from './leanClient.ts';
import { reachesScaledBar } from './reachesScaledBar.ts';
import { percentile, reachesBars } from './statistics.ts';
import { configure, openWorld, pinToOneCore, type World } from './world.ts';

const BATCH = 100;
const ROUNDS = 3;
const SETTLE_MS = 500;
const PLENTY = 1_000_000_000_000;
/** Single calls per second of the floor on the machine where the bars were set. */
const REFERENCE_FLOOR_RATE = 28_000;
const NETWORK = 'ethereum-mainnet';

const CALL = { method: 'eth_getBalance', params: [`0x${'ab'.repeat(20)}`, 'latest'] };
/** A final answer: the state after a past block never changes. */
const PAST = { ...CALL, params: [`0x${'ab'.repeat(20)}`, '0x10'] };

const LOADS = ['floor single', 'single', 'cached', 'floor batch', 'batch'] as const;
type Load = (typeof LOADS)[number];

export async function benchmarkRpc(options: { seconds?: number; rounds?: number } = {}): Promise<{ ok: boolean }> {
  const { seconds = 4, rounds = ROUNDS } = options;
  const world = await openWorld({});
  try {
    const targets = await openSides(world);
    const turns = { seconds, rounds, warmUpTurns: WARM_UP_TURNS, settleMs: SETTLE_MS };
    return { ok: reportFigures(await measureInTurns(targets, { ...turns, pausedSides: ['floor single', 'single'] })) };
  } finally {
    await world.close();
  }
}

/** Starts an API process with the chain node at `node`, and creates a payer with its requests. */
export async function openProduct(world: World, node: string) {
  const { accountId, inference } = await world.createPayer();
  const config = {
    rpc: { networks: { [NETWORK]: { endpoints: [node], allowPrivateNetwork: true } } },
    limits: { overrides: { [accountId]: { rpcRequestsPerMinute: PLENTY, rpcCreditsPerDay: PLENTY } } },
  };
  const api = await world.start('api', configure(world, config));
  return { api, inference, targets: requestsOf(api.origin, inference) };
}

async function openSides(world: World): Promise<Record<Load, LeanRequest>> {
  const node = await world.startFloor('rpcNode');
  const { api, inference, targets } = await openProduct(world, node.origin);
  const pass = await world.startFloor('rpcPass', { BENCH_UPSTREAM: node.origin });
  await pinToOneCore(world, [api, pass]);
  for (const pid of [node.pid, ...(await postgresPids(world))]) await pinToSecondCore(pid);
  const floor = requestsOf(pass.origin, inference);
  const { single, cached, batch } = targets;
  return { 'floor single': floor.single, single, cached, 'floor batch': floor.batch, batch };
}

function requestsOf(origin: string, key: string): Record<'single' | 'cached' | 'batch', LeanRequest> {
  const request = (calls: object[]): LeanRequest => {
    const items = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
    return {
      method: 'POST',
      url: `${origin}/api/v1/crypto/rpc/${NETWORK}`,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(items.length === 1 ? items[0] : items),
    };
  };
  const batch = Array.from({ length: BATCH }, () => CALL);
  return { single: request([CALL]), cached: request([PAST]), batch: request(batch) };
}

function reportFigures(loads: Record<Load, LoadFigures>): boolean {
  const rate = (load: Load) => percentile(loads[load].perSecond, 0.5);
  console.log('rpc: key, limits, durable hold and settle, against a bare pass-through; on one core');
  console.table(
    LOADS.map((load) => ({
      load,
      [`req/s at ${LOAD_CONNECTIONS} connections`]: Math.round(rate(load)),
      'items/s': Math.round(rate(load) * (load.includes('batch') ? BATCH : 1)),
    })),
  );
  const isReached = reachesBars([
    ['single ÷ floor', rate('single') / rate('floor single'), '≥', 0.2],
    ['items of batches ÷ floor', rate('batch') / rate('floor batch'), '≥', 0.3],
    ['cached ÷ single', rate('cached') / rate('single'), '≥', 1.2],
    ['failed', LOADS.reduce((sum, load) => sum + loads[load].failed, 0), '≤', 0],
  ]);
  const waitOf = (load: Load) => percentile(loads[load].waitsMs, 0.5);
  const added = waitOf('single') - waitOf('floor single');
  const floorRates = { measured: rate('floor single'), reference: REFERENCE_FLOOR_RATE };
  return (
    reachesScaledBar(floorRates, { name: `added p50 at ${PAUSED_CONNECTIONS} connections`, ms: added, barMs: 2 }) &&
    isReached
  );
}
