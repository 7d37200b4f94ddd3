/**
 * Calls to a chain node with everything they are billed by (key, limits, hold, settle) against a bare Koa route that passes
 * the same requests through. One core for each of the two; the node, Postgres, Redis and the load have the other.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTheOtherCore, postgresPids } from './cores.ts';
import { askSingly, askWithoutPause, FEW, type LeanRequest, WARM_UP } from './leanClient.ts';
import { reachesAtPace } from './pace.ts';
import { percentile, round } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

const MANY = 32;
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
    const rates = new Map<Load, number[]>(LOADS.map((load) => [load, []]));
    const waits = { floor: [] as number[], product: [] as number[] };
    let failed = 0;
    for (let turn = 0; turn <= rounds; turn += 1) {
      for (const load of LOADS) {
        const target = targets[load];
        const warmsUp = turn === 0;
        const duration = warmsUp ? seconds * WARM_UP : seconds;
        const told = await askWithoutPause(target, { connections: MANY, seconds: duration, status: 200 });
        await sleep(SETTLE_MS);
        const waited = load.endsWith('single') ? await askSingly(target) : [];
        if (warmsUp) continue;
        rates.get(load)?.push(told.perSecond);
        failed += told.failed;
        waits[load === 'single' ? 'product' : 'floor'].push(...waited);
      }
    }
    return { ok: judge({ rates, waits, failed }) };
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
  const file = path.join(world.folder, 'rpc.config.json');
  writeFileSync(file, JSON.stringify(config));
  const api = await world.start('api', { FAREBOX_CONFIG: file });
  return { api, inference, targets: requestsOf(api.origin, inference) };
}

async function openSides(world: World): Promise<Record<Load, LeanRequest>> {
  const node = await world.startFloor('rpcNode');
  const { api, inference, targets } = await openProduct(world, node.origin);
  const pass = await world.startFloor('rpcPass', { BENCH_UPSTREAM: node.origin });
  await pinToOneCore(world, [api, pass]);
  for (const pid of [node.pid, ...(await postgresPids(world))]) await onTheOtherCore(pid);
  const floor = requestsOf(pass.origin, inference);
  return { ...targets, 'floor single': floor.single, 'floor batch': floor.batch };
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

interface Told {
  rates: ReadonlyMap<Load, number[]>;
  waits: { floor: number[]; product: number[] };
  failed: number;
}

function judge({ rates, waits, failed }: Told): boolean {
  const rate = (load: Load) => percentile(rates.get(load) ?? [], 0.5);
  console.log('rpc: key, limits, durable hold and settle, against a bare pass-through; on one core');
  console.table(
    LOADS.map((load) => ({
      load,
      [`req/s at ${MANY} connections`]: Math.round(rate(load)),
      'items/s': Math.round(rate(load) * (load.includes('batch') ? BATCH : 1)),
    })),
  );
  const single = rate('single') / rate('floor single');
  const batch = rate('batch') / rate('floor batch');
  const cached = rate('cached') / rate('single');
  const added = percentile(waits.product, 0.5) - percentile(waits.floor, 0.5);
  console.log(`  single ÷ floor (≥ 0.2): ${round(single)}`);
  console.log(`  items of batches ÷ floor (≥ 0.3): ${round(batch)}`);
  console.log(`  cached ÷ single (≥ 1.2): ${round(cached)}`);
  const pace = { floor: rate('floor single'), set: SET_AT };
  const quick = reachesAtPace(pace, { name: `added p50 at ${FEW} connections`, ms: added, barMs: 2 });
  console.log(`  failed (0): ${failed}`);
  return single >= 0.2 && batch >= 0.3 && cached >= 1.2 && quick && failed === 0;
}
