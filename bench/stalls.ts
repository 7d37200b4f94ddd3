/** Longest turn of a real API process's event loop for each hostile input, in CPU time of its thread. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { StallFigure } from '../test/acceptance/hostile/checkRow.ts';
import { PLAIN_ROWS } from '../test/acceptance/hostile/plainRows.ts';
import { openPlainSites } from '../test/acceptance/hostile/site.ts';
import { probeVariables, readStall } from '../test/acceptance/stallReports.ts';
import { ROOT } from '../test/harness/spawn.ts';
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

export async function benchmarkStalls(): Promise<{ ok: boolean }> {
  const sites = await openPlainSites();
  const upstream = await openLargeUpstream();
  const { providers, models } = upstream;
  const world = await openWorld({ fetch: { allowPrivateHosts: sites.hosts }, providers, models });
  try {
    const file = path.join(world.folder, 'stall.json');
    // Created before the API starts, which then reads its limits: a refused request would measure nothing.
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
    const figures: StallFigure[] = [];
    let isAnswered = true;
    for (const { name, status, send } of inputs) {
      const { nowBytes } = await readStall(api.pid, file);
      const answered = await send();
      const { longestMs, mostBytes } = await readStall(api.pid, file);
      figures.push({ name: `${name}: ${answered}`, longestMs, growthBytes: mostBytes - nowBytes });
      isAnswered &&= answered === status;
    }
    const others = await callerFigures(path.join(world.folder, 'figures.jsonl'));
    const all = [...figures, ...others.figures];
    console.log(`stalls: the longest turn of the event loop for each input (≤ ${MAX_STALL_MS} ms)`);
    console.table(
      all.map(({ name, longestMs, growthBytes }) => ({
        ...{ input: name, 'longest ms': round(longestMs), 'growth MB': round(growthBytes / MEBIBYTE) },
      })),
    );
    return {
      ok: isAnswered && others.isOk && all.every(({ longestMs }) => longestMs <= MAX_STALL_MS),
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

/** Runs the test of hostile callers, whose rows need accounts with and without funds, for its figures. */
async function callerFigures(file: string): Promise<{ figures: StallFigure[]; isOk: boolean }> {
  const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', 'test/acceptance/hostile/callers.test.ts'], {
    ...{ cwd: ROOT, stdio: 'inherit' },
    env: { ...process.env, FAREBOX_TEST_LONG: '1', FAREBOX_STALL_FIGURES: file },
  });
  const [code] = await once(child, 'close');
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return { figures: lines.map((line) => JSON.parse(line) as StallFigure), isOk: code === 0 };
}
