/**
 * Calls to a chain node with everything they are billed by (key, limits, hold, settle) against a bare Koa route that passes
 * the same requests through. One core for each of the two; the node, Postgres, Redis and the load have the other.
 */
import { onTheOtherCore, postgresPids } from './cores.ts';
import { FEW, type LeanRequest, type LoadFigures, MANY, measureInTurns, WARM_UP } from './leanClient.ts';
import { reachesAtPace } from './pace.ts';
import { percentile, reachesBars } from './statistics.ts';
import { configure, openWorld, pinToOneCore, type World } from './world.ts';

const BATCH = 100;
const ROUNDS = 3;
const SETTLE_MS = 500;
const PLENTY = 1_000_000_000_000;
/** Of the bare forwarder, single calls, where the bars were set. */
const SET_AT = 28_000;
const NETWORK = 'ethereum-mainnet';

const CALL = { method: 'eth_getBalance', params: [`0x${'ab'.repeat(20)}`, 'latest'] };
/** What can never change: the state after a block of the past. */
const PAST = { ...CALL, params: [`0x${'ab'.repeat(20)}`, '0x10'] };

const LOADS = ['floor single', 'single', 'cached', 'floor batch', 'batch'] as const;
type Load = (typeof LOADS)[number];

export async function run(options: { seconds?: number; rounds?: number } = {}): Promise<{ ok: boolean }> {
  const { seconds = 4, rounds = ROUNDS } = options;
  const world = await openWorld({});
  try {
    const targets = await openSides(world);
    const turns = { seconds, rounds, warmUp: WARM_UP, settleMs: SETTLE_MS };
    return { ok: judge(await measureInTurns(targets, { ...turns, singly: ['floor single', 'single'] })) };
  } finally {
    await world.close();
  }
}

/** An API process that asks the chain node at `node`, and requests that its payer makes. */
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
  for (const pid of [node.pid, ...(await postgresPids(world))]) await onTheOtherCore(pid);
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

function judge(loads: Record<Load, LoadFigures>): boolean {
  const rate = (load: Load) => percentile(loads[load].perSecond, 0.5);
  console.log('rpc: key, limits, durable hold and settle, against a bare pass-through; on one core');
  console.table(
    LOADS.map((load) => ({
      load,
      [`req/s at ${MANY} connections`]: Math.round(rate(load)),
      'items/s': Math.round(rate(load) * (load.includes('batch') ? BATCH : 1)),
    })),
  );
  const isReached = reachesBars([
    ['single ÷ floor', rate('single') / rate('floor single'), '≥', 0.2],
    ['items of batches ÷ floor', rate('batch') / rate('floor batch'), '≥', 0.3],
    ['cached ÷ single', rate('cached') / rate('single'), '≥', 1.2],
    ['failed', LOADS.reduce((sum, load) => sum + loads[load].failed, 0), '≤', 0],
  ]);
  const wait = (load: Load) => percentile(loads[load].waitsMs, 0.5);
  const added = wait('single') - wait('floor single');
  const pace = { floor: rate('floor single'), set: SET_AT };
  return reachesAtPace(pace, { name: `added p50 at ${FEW} connections`, ms: added, barMs: 2 }) && isReached;
}
