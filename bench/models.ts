/** The whole catalogue, with a key, against a bare Koa route that sends the same bytes; and to a client that has them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { askWithoutPause, type LeanRequest } from './leanClient.ts';
import { percentile, round } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

const CONNECTIONS = 32;
/** How a process came to lie in memory decides a tenth of its rate: each side is asked in so many processes. */
const PROCESSES = 3;
const ROUNDS = 2;

interface Target extends LeanRequest {
  status: number;
}

const GET = { method: 'GET', body: '', status: 200 };

interface Figures {
  perSecond: number[];
  failed: number;
}

export async function run(options: { seconds?: number } = {}): Promise<{ ok: boolean }> {
  const duration = options.seconds ?? 3;
  const world = await openWorld({});
  try {
    const { inference } = await world.createPayer();
    const sides: Record<string, Figures> = {};
    let bytes = 0;
    for (let process = 0; process < PROCESSES; process += 1) {
      const opened = await openSides(world, inference);
      await ask(opened.targets, { duration, sides });
      await opened.close();
      bytes = opened.bytes;
    }
    return judge(bytes, sides);
  } finally {
    await world.close();
  }
}

async function ask(
  targets: Record<string, Target>,
  { duration, sides }: { duration: number; sides: Record<string, Figures> },
): Promise<void> {
  for (let turn = 0; turn <= ROUNDS; turn += 1) {
    for (const [side, target] of Object.entries(targets)) {
      const { status } = target;
      const result = await askWithoutPause(target, { connections: CONNECTIONS, seconds: duration, status });
      // The first turn only warms up.
      if (turn === 0) continue;
      sides[side] ??= { perSecond: [], failed: 0 };
      sides[side].perSecond.push(result.perSecond);
      sides[side].failed += result.failed;
    }
  }
}

interface Sides {
  targets: Record<string, Target>;
  bytes: number;
  close(): Promise<void>;
}

async function openSides(world: World, inference: string): Promise<Sides> {
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
      floor: { ...GET, url: `${floor.origin}/bytes`, headers: {} },
      product: { ...GET, url, headers },
      'product, 304': { ...GET, url, headers: { ...headers, 'if-none-match': etag }, status: 304 },
    },
    close: async () => {
      await Promise.all([api.stop(), floor.stop()]);
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
