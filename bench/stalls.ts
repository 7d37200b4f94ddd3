/** The longest turn of a real API process's event loop under each hostile input, in time that its thread ran on a core. */
import path from 'node:path';
import { HOSTILE_ROWS } from '../test/acceptance/hostileRows.ts';
import { openHostileSite } from '../test/acceptance/hostileSite.ts';
import { probeVariables, readStall } from '../test/acceptance/stallReports.ts';
import { round } from './statistics.ts';
import { openWorld } from './world.ts';

const MAX_STALL_MS = 100;
const MEBIBYTE = 1024 * 1024;

export async function run(): Promise<{ ok: boolean }> {
  const site = await openHostileSite();
  const world = await openWorld({ fetch: { allowPrivateHosts: [site.host] } });
  try {
    const file = path.join(world.folder, 'stall.json');
    const api = await world.start('api', probeVariables(file));
    const figures = [];
    for (const row of HOSTILE_ROWS) {
      const { inference: key } = await world.createPayer();
      const { nowBytes } = await readStall(api.pid, file);
      const { status } = await row.send({ origin: api.origin, key, site: `http://${site.host}` });
      const { longestMs, mostBytes } = await readStall(api.pid, file);
      figures.push({ input: row.name, status, longestMs, growthMb: (mostBytes - nowBytes) / MEBIBYTE });
    }
    console.log(`stalls: the longest turn of the event loop for each input (≤ ${MAX_STALL_MS} ms)`);
    console.table(
      figures.map(({ input, status, longestMs, growthMb }) => ({
        ...{ input, status, 'longest ms': round(longestMs), 'growth MB': round(growthMb) },
      })),
    );
    return { ok: figures.every(({ longestMs }) => longestMs <= MAX_STALL_MS) };
  } finally {
    await world.close();
    site.close();
  }
}
