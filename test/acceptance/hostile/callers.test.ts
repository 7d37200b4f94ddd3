/** Requests that cost more than they paid, caused work before payment, or revealed too much. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { ACCESS_ROWS } from './accessRows.ts';
import { checkRow } from './checkRow.ts';
import { LONG_ROWS } from './longRows.ts';
import { TEXT_ROWS } from './textRows.ts';
import { UNFUNDED_ROWS } from './unfundedRows.ts';
import { type HostileWorld, openHostileWorld } from './world.ts';

let world: HostileWorld;
beforeAll(async () => {
  world = await openHostileWorld();
}, 180_000);
afterAll(async () => {
  expect(await checkLedger(world.deployment.pool)).toEqual([]);
  await world?.close();
});

describe.each([
  ['without funds', UNFUNDED_ROWS],
  ['that pays for what it got', TEXT_ROWS],
  ['that gets what is its own', ACCESS_ROWS],
  ...(process.env.FAREBOX_TEST_LONG === '1' ? ([['that takes long', LONG_ROWS]] as const) : []),
] as const)('a caller %s', (_name, rows) => {
  it.each(rows.map((row) => [row.name, row] as const))('%s', { timeout: 400_000 }, async (_name, row) => {
    await checkRow(world, row, world);
  });
});
