/**
 * A hundred jobs while every process of the stack is killed at random and comes back: all jobs end, the books are exact,
 * nothing is left behind. `FAREBOX_TEST_SEED` repeats a run's choices.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { processEnvironment } from '../../infra/config/environment.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { auditStack } from './auditStack.ts';
import { errandsFor, runErrand } from './crowd.ts';
import { diagnose } from './diagnose.ts';
import { killConfig } from './models.ts';
import { createChance } from './random.ts';
import { STACK_PARTS, type Stack, startStack } from './stack.ts';
import { openStackTools } from './stackTools.ts';

const JOBS = longRun(100, 1_000);
const CHAOS_MS = longRun(50_000, 600_000);
/** Every job ends this soon after the last kill (reliability Q2, G-1). */
const HEAL_LIMIT_MS = 120_000;
const seed = Number(processEnvironment().FAREBOX_TEST_SEED ?? Date.now() % 1_000_000);

it(
  `${JOBS} jobs all end and are paid for exactly while every process of the stack is killed at random (seed ${seed})`,
  async () => {
    process.stderr.write(`chaos: FAREBOX_TEST_SEED=${seed}\n`);
    const chance = createChance(seed);
    const stack = await startStack('chaos', killConfig());
    const tools = openStackTools(stack);
    try {
      const payers = await Promise.all(Array.from({ length: 5 }, () => tools.createPayer()));
      const errands = errandsFor(payers, chance, { count: JOBS, withinMs: CHAOS_MS * 0.9 });
      const limitMs = CHAOS_MS + HEAL_LIMIT_MS;
      const crowd = Promise.allSettled(errands.map((each) => runErrand(stack.dev.baseUrl, each, limitMs)));
      const kills = await killAtRandom(stack, chance);
      const healedAt = Date.now();
      const results = await crowd;
      const healMs = Date.now() - healedAt;
      const report = await auditStack(tools, payers, results);
      process.stderr.write(`chaos: ${JSON.stringify({ kills, healMs, ...report })}\n`);
      expect(healMs).toBeLessThan(HEAL_LIMIT_MS);
    } catch (error) {
      process.stderr.write(`${stack.log().slice(-4_000)}\n`);
      for (const part of ['api', 'worker'] as const) {
        process.stderr.write(`--- ${part}\n${stack.logOf(part).slice(-6_000)}\n`);
      }
      throw new Error(`${String(error)}\n${await diagnose(stack, tools)}`, { cause: error });
    } finally {
      await tools.close();
      await stack.stop();
    }
  },
  CHAOS_MS + HEAL_LIMIT_MS + 240_000,
);

/** Each part once, in any order, and then whichever chance picks; the number of kills of each. */
async function killAtRandom(
  stack: Stack,
  chance: ReturnType<typeof createChance>,
): Promise<Record<string, number>> {
  const kills: Record<string, number> = {};
  const first = chance.shuffle(STACK_PARTS);
  const endAt = Date.now() + CHAOS_MS;
  while (Date.now() < endAt) {
    await sleep(chance.between(1_000, 3_000));
    const part = first.shift() ?? chance.pick(STACK_PARTS);
    if (stack.kill(part)) kills[part] = (kills[part] ?? 0) + 1;
  }
  return kills;
}
