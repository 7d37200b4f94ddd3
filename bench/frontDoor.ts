import { type LeanRequest, type LoadFigures, measureInTurns, printLoads } from './leanClient.ts';
import { percentile, reachesBars } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

const ROUNDS = 3;

export async function benchmarkFrontDoor(options: { seconds?: number } = {}): Promise<{ ok: boolean }> {
  const duration = options.seconds ?? 3;
  const world = await openWorld({});
  try {
    const { inference } = await world.createPayer();
    const targets = {
      floor: requestOf(await startSide(world, 'floor'), inference),
      product: requestOf(await startSide(world, 'product'), inference),
    };
    return reportFigures(await measureInTurns(targets, { seconds: duration, rounds: ROUNDS }));
  } finally {
    await world.close();
  }
}

function requestOf(origin: string, key: string): LeanRequest {
  return {
    url: `${origin}/api/v1/empty`,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench-text' }),
  };
}

async function startSide(world: World, side: 'floor' | 'product'): Promise<string> {
  const process = await world.startFloor('frontServer', { BENCH_SIDE: side });
  await pinToOneCore(world, [process]);
  return process.origin;
}

function reportFigures({ floor, product }: Record<'floor' | 'product', LoadFigures>): { ok: boolean } {
  console.log('front door: credential, limits, shape and an empty handler, on one core');
  printLoads({ floor, product });
  const ratio = percentile(product.perSecond, 0.5) / percentile(floor.perSecond, 0.5);
  const added = percentile(product.waitsMs, 0.5) - percentile(floor.waitsMs, 0.5);
  const isReached = reachesBars([
    ['req/s ÷ floor', ratio, '≥', 0.3],
    ['added p50, ms', added, '≤', 0.35],
  ]);
  return { ok: isReached && product.failed === 0 };
}
