/** Checks a hostile request: answer, price, requests to others, event loop turns and memory. */
import { appendFileSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { type Deployment, eventually } from '../deployment.ts';
import { readStall } from '../stallReports.ts';
import type { HostileRow } from './row.ts';

/** `npm run bench -- stalls` has the bar of 100 ms. Here other processes share the cores. */
const MAX_STALL_MS = 500;
/** Bodies of up to 35 MB are in memory as bytes, text and values, and V8 grows its heap ahead of that. */
const MAX_GROWTH_BYTES = 300 * 1024 * 1024;
const SETTLED_WITHIN_MS = 60_000;

export interface StallFigure {
  name: string;
  longestMs: number;
  growthBytes: number;
}

/** Writes a JSON line for `npm run bench -- stalls`, which also runs these rows. */
function noteStall(figure: StallFigure): void {
  const file = process.env.FAREBOX_STALL_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}

export interface Watched {
  deployment: Deployment;
  stallFile: string;
  takeSeen(): string[];
}

export async function checkRow<Target>(
  { deployment, stallFile, takeSeen }: Watched,
  row: HostileRow<Target>,
  target: Target,
): Promise<void> {
  const { account, api, origin, pool } = deployment;
  takeSeen();
  const before = { money: await deployment.moneyOf(account), transfers: await deployment.transfers() };
  const children = childrenOf(api.pid);
  const { nowBytes } = await readStall(api.pid, stallFile);
  const answer = await row.send(target);
  const lawful = row.whenSlow?.find(({ status }) => status === answer.status) ?? row;
  const expected = [lawful.status, expect.stringMatching(lawful.body)];
  expect([answer.status, answer.body.slice(0, 2_000)]).toEqual(expected);
  await eventually(async () => {
    const { rows } = await pool.query('select count(*)::int as open from holds');
    return rows[0].open === 0 ? true : undefined;
  }, SETTLED_WITHIN_MS);
  const { longestMs, mostBytes } = await readStall(api.pid, stallFile);
  noteStall({ name: row.name, longestMs, growthBytes: mostBytes - nowBytes });
  const paid = before.money - (await deployment.moneyOf(account));
  if (row.charged === undefined) expect(paid).toBeGreaterThanOrEqual(row.atLeast ?? 1n);
  else expect(paid).toBe(row.charged);
  // No other account was charged.
  if (row.charged === 0n) expect(await deployment.transfers()).toBe(before.transfers + (row.topUps ?? 0));
  if (row.status === 402) expect(childrenOf(api.pid).filter((pid) => !children.includes(pid))).toEqual([]);
  expect(takeSeen().sort()).toEqual([...(row.seen ?? [])].sort());
  expect(longestMs).toBeLessThan(MAX_STALL_MS);
  expect(mostBytes - nowBytes).toBeLessThan(MAX_GROWTH_BYTES);
  const health = await fetch(`${origin}/healthz`);
  expect([health.status, api.logs().includes('api stopped')]).toEqual([200, false]);
  expect(() => process.kill(api.pid, 0)).not.toThrow();
}

/** Children that parse documents and pages are kept for later requests. */
function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
}
