/** The whole catalogue, with a key, against a bare Koa route that sends the same bytes. Also its 304. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type LeanRequest, LOAD_CONNECTIONS, measureInTurns } from './leanClient.ts';
import { percentile, reachesBars } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

/** The memory layout of a process changes its rate by a tenth, so each side is measured in several processes. */
const PROCESSES = 3;
const ROUNDS = 2;

const GET = { method: 'GET', body: '' };

export async function benchmarkModels(options: { seconds?: number } = {}): Promise<{ ok: boolean }> {
  const duration = options.seconds ?? 3;
  const world = await openWorld({});
  try {
    const { inference } = await world.createPayer();
    const rates: Record<string, number[]> = {};
    let failed = 0;
    let bytes = 0;
    for (let process = 0; process < PROCESSES; process += 1) {
      const opened = await openSides(world, inference);
      const sides = await measureInTurns(opened.targets, { seconds: duration, rounds: ROUNDS, pausedSides: [] });
      for (const [side, figures] of Object.entries(sides)) {
        rates[side] = [...(rates[side] ?? []), ...figures.perSecond];
        failed += figures.failed;
      }
      await opened.close();
      bytes = opened.bytes;
    }
    return reportFigures(bytes, rates, failed);
  } finally {
    await world.close();
  }
}

interface ModelTargets {
  targets: Record<string, LeanRequest>;
  bytes: number;
  close(): Promise<void>;
}

async function openSides(world: World, inference: string): Promise<ModelTargets> {
  const api = await world.start('api');
  const url = `${api.origin}/api/v1/models?type=all`;
  const headers = { authorization: `Bearer ${inference}` };
  const answer = await fetch(url, { headers });
  const body = Buffer.from(await answer.arrayBuffer());
  const etag = answer.headers.get('etag') ?? '';
  const again = await fetch(url, { headers: { ...headers, 'if-none-match': etag } });
  if (answer.status !== 200 || again.status !== 304) throw new Error(`${answer.status}, then ${again.status}`);
  const file = path.join(world.folder, 'models.json');
  writeFileSync(file, body);
  const floor = await world.startFloor('bytesServer', { BENCH_BYTES: file });
  await pinToOneCore(world, [api, floor]);
  return {
    bytes: body.length,
    targets: {
      floor: { ...GET, url: `${floor.origin}/bytes`, headers: {} },
      product: { ...GET, url, headers },
      'product, 304': { ...GET, url, headers: { ...headers, 'if-none-match': etag }, status: 304 },
    },
    close: async () => {
      await Promise.all([api.stop(), floor.stop()]);
    },
  };
}

function reportFigures(bytes: number, rates: Record<string, number[]>, failed: number): { ok: boolean } {
  console.log(`the whole catalogue, ${bytes} bytes, ${LOAD_CONNECTIONS} connections, on one core; failed ${failed}`);
  const rate = (side: string) => percentile(rates[side] ?? [], 0.5);
  console.table(Object.keys(rates).map((side) => ({ side, 'req/s': Math.round(rate(side)) })));
  const isReached = reachesBars([
    ['req/s ÷ floor', rate('product') / rate('floor'), '≥', 0.5],
    ['304 to a client that has it: req/s ÷ floor', rate('product, 304') / rate('floor'), '≥', 0.5],
  ]);
  return { ok: isReached && failed === 0 };
}
