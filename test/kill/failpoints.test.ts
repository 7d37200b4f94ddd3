/**
 * Kills real processes at every failpoint that a job passes (CRASH-1 to CRASH-30). The job ends delivered and charged
 * once, or failed and refunded once, the ledger holds, and the bucket is empty.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CASES } from './cases.ts';
import { FAILPOINTS } from './failpoints.ts';
import { killConfig } from './models.ts';
import { type Played, playCases } from './playCases.ts';

const LIMIT_MS = 1_200_000;
/** Media expire within 4 seconds, for the cases that wait for it. */
const SHORT_RETENTION_HOURS = 4 / 3_600;

let played: Played;

beforeAll(() => {
  const expiring = CASES.filter((each) => each.flow === 'expire');
  const ordinary = CASES.filter((each) => each.flow !== 'expire');
  played = playCases([
    { cases: ordinary, config: killConfig(), worlds: 8 },
    { cases: expiring, config: killConfig({ retentionHours: SHORT_RETENTION_HOURS }), worlds: 1 },
  ]);
});

describe('a job whose processes die or whose replies are lost', () => {
  it('covers every failpoint of the table that a job passes', () => {
    const numbers = new Set(FAILPOINTS.map((point) => Number.parseInt(point.number, 10)));
    const passed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30];
    expect([...numbers].sort((left, right) => left - right)).toEqual(passed);
    expect(CASES.length).toBeGreaterThanOrEqual(60);
  });

  it.each(CASES)(
    '$title',
    async (each) => {
      const { swept, seconds } = await played.outcome(each);
      if (process.env.KILL_VERBOSE) process.stderr.write(`@ ${seconds.toFixed(1)} s, swept ${swept}: ${each.title}\n`);
    },
    LIMIT_MS,
  );

  it(
    "leaves a ledger that passes the operator's check",
    async () => {
      for (const check of await played.checks) {
        expect(check).toEqual({ code: 0, text: 'ledger: every invariant holds\n' });
      }
    },
    LIMIT_MS,
  );
});
