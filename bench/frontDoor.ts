import { askSingly, askWithoutPause, FEW } from './leanClient.ts';
import { percentile, round } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

const MANY = 32;
const ROUNDS = 3;

export async function run(options: { seconds?: number } = {}): Promise<{ ok: boolean }> {
  const duration = options.seconds ?? 3;
  const world = await openWorld({});
  try {
    const { inference } = await world.createPayer();
    const targets = {
      floor: requestOf(await startSide(world, 'floor'), inference),
      product: requestOf(await startSide(world, 'product'), inference),
    };
    const sides = { floor: newFigures(), product: newFigures() };
    for (let turn = 0; turn <= ROUNDS; turn += 1) {
      for (const side of ['floor', 'product'] as const) {
        const load = { connections: MANY, seconds: duration, status: 200 };
        const result = await askWithoutPause(targets[side], load);
        const waits = await askSingly(targets[side]);
        // The first turn only warms up.
        if (turn === 0) continue;
        sides[side].perSecond.push(result.perSecond);
        sides[side].waitsMs.push(...waits);
        sides[side].failed += result.failed;
      }
    }
    return judge(sides);
  } finally {
    await world.close();
  }
}

interface Figures {
  perSecond: number[];
  waitsMs: number[];
  failed: number;
}

function newFigures(): Figures {
  return { perSecond: [], waitsMs: [], failed: 0 };
}

function requestOf(origin: string, key: string) {
  return {
    url: `${origin}/api/v1/empty`,
    method: 'POST' as const,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench-text' }),
  };
}

async function startSide(world: World, side: 'floor' | 'product'): Promise<string> {
  const process = await world.startFloor('frontServer', { BENCH_SIDE: side });
  await pinToOneCore(world, [process]);
  return process.origin;
}

function judge(sides: { floor: Figures; product: Figures }): { ok: boolean } {
  console.log('front door: credential, limits, shape and an empty handler, on one core');
  console.table(
    Object.entries(sides).map(([side, { perSecond, waitsMs, failed }]) => ({
      side,
      [`req/s at ${MANY} connections`]: Math.round(percentile(perSecond, 0.5)),
      [`p50 ms at ${FEW}`]: round(percentile(waitsMs, 0.5)),
      [`p99 ms at ${FEW}`]: round(percentile(waitsMs, 0.99)),
      failed,
    })),
  );
  const { floor, product } = sides;
  const ratio = percentile(product.perSecond, 0.5) / percentile(floor.perSecond, 0.5);
  const added = percentile(product.waitsMs, 0.5) - percentile(floor.waitsMs, 0.5);
  console.log(`  req/s ÷ floor (≥ 0.3): ${round(ratio)}`);
  console.log(`  added p50, ms (≤ 0.35): ${round(added)}`);
  return { ok: ratio >= 0.3 && added <= 0.35 && product.failed === 0 };
}
