/** The longest turn of a real API process's event loop under each hostile input, in time that its thread ran on a core. */
import path from 'node:path';
import { PLAIN_ROWS } from '../test/acceptance/hostile/plainRows.ts';
import { openPlainSites } from '../test/acceptance/hostile/site.ts';
import { probeVariables, readStall } from '../test/acceptance/stallReports.ts';
import { LARGE_BODIES, type LargeBody, openLargeUpstream } from './largeBodies.ts';
import { round } from './statistics.ts';
import { openWorld } from './world.ts';

const MAX_STALL_MS = 100;
const MEBIBYTE = 1024 * 1024;

interface Input {
  name: string;
  status: number;
  send(): Promise<number>;
}

export async function run(): Promise<{ ok: boolean }> {
  const sites = await openPlainSites();
  const upstream = await openLargeUpstream();
  const { providers, models } = upstream;
  const world = await openWorld({ fetch: { allowPrivateHosts: sites.hosts }, providers, models });
  try {
    const file = path.join(world.folder, 'stall.json');
    // Before the API starts, which reads its limits then: a refused request shows nothing.
    const { inference: key } = await world.createPayer();
    const api = await world.start('api', probeVariables(file));
    const target = { origin: api.origin, key, ...sites.urls };
    const inputs: Input[] = [
      ...PLAIN_ROWS.map(({ name, status, send }) => ({
        ...{ name, status },
        send: async () => (await send(target)).status,
      })),
      ...LARGE_BODIES.map((large) => ({
        name: `35 MB: ${large.name}`,
        status: large.status,
        send: () => sendLarge(large, target),
      })),
    ];
    const figures = [];
    for (const { name, status, send } of inputs) {
      const { nowBytes } = await readStall(api.pid, file);
      const answered = await send();
      const { longestMs, mostBytes } = await readStall(api.pid, file);
      figures.push({ name, status, answered, longestMs, growthMb: (mostBytes - nowBytes) / MEBIBYTE });
    }
    console.log(`stalls: the longest turn of the event loop for each input (≤ ${MAX_STALL_MS} ms)`);
    console.table(
      figures.map(({ name, answered, longestMs, growthMb }) => ({
        ...{ input: name, status: answered, 'longest ms': round(longestMs), 'growth MB': round(growthMb) },
      })),
    );
    return {
      ok: figures.every(
        ({ longestMs, status, answered }) => longestMs <= MAX_STALL_MS && answered === status,
      ),
    };
  } finally {
    await world.close();
    sites.close();
    upstream.close();
  }
}

async function sendLarge(
  { path: route, body }: LargeBody,
  { origin, key }: { origin: string; key: string },
): Promise<number> {
  const response = await fetch(`${origin}/api/v1${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body(),
  });
  await response.arrayBuffer();
  return response.status;
}
