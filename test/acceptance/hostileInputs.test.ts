/** Requests that once ended or froze an API process: their answer, their price, and what the process notices of them. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { services } from '../harness/services.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { HOSTILE_ROWS } from './hostileRows.ts';
import { type HostileSite, openHostileSite } from './hostileSite.ts';
import { probeVariables, readStall } from './stallReports.ts';

/** `npm run bench -- stalls` has the bar, 100 ms; here the parts and other tests share the cores. */
const MAX_STALL_MS = 500;
const MAX_GROWTH_BYTES = 300 * 1024 * 1024;

let site: HostileSite;
let deployment: Deployment;
let stallFile: string;
beforeAll(async () => {
  site = await openHostileSite();
  stallFile = path.join(services().folder, `${randomUUID()}.stall.json`);
  deployment = await openDeployment({
    configuration: { fetch: { allowPrivateHosts: [site.host] } },
    variables: probeVariables(stallFile),
  });
}, 180_000);
afterAll(async () => {
  await deployment?.close();
  site?.close();
});

it.each(HOSTILE_ROWS)('$name', { timeout: 120_000 }, async (row) => {
  const { account, api, origin } = deployment;
  const before = await deployment.moneyOf(account);
  const { nowBytes } = await readStall(api.pid, stallFile);
  const target = { origin, key: account.inferenceKey, site: `http://${site.host}` };
  const answer = await row.send(target);
  const { longestMs, mostBytes } = await readStall(api.pid, stallFile);
  expect([answer.status, answer.body.slice(0, 2_000)]).toEqual([row.status, expect.stringMatching(row.body)]);
  const charged = await eventually(async () => {
    const paid = before - (await deployment.moneyOf(account));
    const isExpected = row.charged === undefined ? paid > 0n : paid === row.charged;
    return isExpected ? paid : undefined;
  });
  expect(charged).toBe(row.charged ?? charged);
  expect(site.takeSeen()).toEqual(row.seen ?? []);
  expect(longestMs).toBeLessThan(MAX_STALL_MS);
  expect(mostBytes - nowBytes).toBeLessThan(MAX_GROWTH_BYTES);
  const health = await fetch(`${origin}/healthz`);
  expect([health.status, api.logs().includes('api stopped')]).toEqual([200, false]);
  expect(() => process.kill(api.pid, 0)).not.toThrow();
});
