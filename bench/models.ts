/** The whole catalogue, with a key, against a bare Koa route that sends the same bytes; and to a client that has them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import autocannon from 'autocannon';
import { percentile, round } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

const CONNECTIONS = 32;
const ROUNDS = 5;

interface Target {
  url: string;
  headers?: Record<string, string>;
}

interface Figures {
  perSecond: number[];
  failed: number;
}

export async function run(options: { seconds?: number } = {}): Promise<{ ok: boolean }> {
  const duration = options.seconds ?? 3;
  const world = await openWorld({});
  try {
    const { targets, bytes } = await openSides(world);
    const sides = Object.entries(targets).map(([side, target]) => ({ side, target, figures: newFigures() }));
    for (let turn = 0; turn <= ROUNDS; turn += 1) {
      for (const { target, figures } of sides) {
        const result = await autocannon({ ...target, connections: CONNECTIONS, duration });
        // The first turn only warms up.
        if (turn === 0) continue;
        figures.perSecond.push(result.requests.average);
        figures.failed += result.errors + result['4xx'] + result['5xx'];
      }
    }
    return judge(bytes, Object.fromEntries(sides.map(({ side, figures }) => [side, figures])));
  } finally {
    await world.close();
  }
}

function newFigures(): Figures {
  return { perSecond: [], failed: 0 };
}

async function openSides(world: World): Promise<{ targets: Record<string, Target>; bytes: number }> {
  const { inference } = await world.createPayer();
  const api = await world.start('api');
  const url = `${api.origin}/api/v1/models?type=all`;
  const headers = { authorization: `Bearer ${inference}` };
  const answer = await fetch(url, { headers });
  const body = Buffer.from(await answer.arrayBuffer());
  const etag = answer.headers.get('etag') ?? '';
  const again = await fetch(url, { headers: { ...headers, 'if-none-match': etag } });
  if (answer.status !== 200 || again.status !== 304)
    throw new Error(`${answer.status}, then ${again.status}`);
  const file = path.join(world.folder, 'models.json');
  writeFileSync(file, body);
  const floor = await world.startFloor('bytesServer', { BENCH_BYTES: file });
  await pinToOneCore(world, [api, floor]);
  return {
    bytes: body.length,
    targets: {
      floor: { url: `${floor.origin}/bytes` },
      product: { url, headers },
      'product, 304': { url, headers: { ...headers, 'if-none-match': etag } },
    },
  };
}

function judge(bytes: number, sides: Record<string, Figures>): { ok: boolean } {
  console.log(`the whole catalogue, ${bytes} bytes, ${CONNECTIONS} connections, on one core`);
  const rate = (side: string) => percentile(sides[side]?.perSecond ?? [], 0.5);
  console.table(
    Object.entries(sides).map(([side, { failed }]) => ({ side, 'req/s': Math.round(rate(side)), failed })),
  );
  const ratio = rate('product') / rate('floor');
  const known = rate('product, 304') / rate('floor');
  console.log(`  req/s ÷ floor (≥ 0.5): ${round(ratio)}`);
  console.log(`  304 to a client that has it: req/s ÷ floor (≥ 0.5): ${round(known)}`);
  const failed = Object.values(sides).reduce((sum, side) => sum + side.failed, 0);
  return { ok: ratio >= 0.5 && known >= 0.5 && failed === 0 };
}
