/** The circuit breaker of a provider: shared by all processes, opened by consecutive failures, closed by any answer. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordProviderFailure, recordProviderSuccess, watchCircuits } from '../../../infra/postgres/providerHealth.ts';
import { type FlowWorld, openFlowWorld } from './flowWorld.ts';

let world: FlowWorld;
beforeAll(async () => {
  world = await openFlowWorld();
});
afterAll(() => world.close());

const newEntry = () => `entry-${randomUUID()}`;

async function fail(entry: string, times: number): Promise<(number | undefined)[]> {
  const pauses: (number | undefined)[] = [];
  for (let time = 0; time < times; time += 1) pauses.push(await recordProviderFailure(world.ledger.pool, entry));
  return pauses;
}

/** Moves the pause into the past. */
async function rest(entry: string): Promise<void> {
  const text = `update provider_health set open_until = clock_timestamp() - interval '1 ms' where provider = $1`;
  await world.ledger.owner.query(text, [entry]);
}

async function goes(job: string): Promise<string> {
  return (await world.open(job)).go;
}

describe('the circuit breaker of a provider', () => {
  it('opens at the fifth consecutive failure for five seconds, and makes jobs wait', async () => {
    const entry = newEntry();
    const [job = ''] = await world.jobs(await world.account(), 1, entry);
    expect(await fail(entry, 5)).toEqual([undefined, undefined, undefined, undefined, 5_000]);
    expect(await world.open(job)).toMatchObject({ go: 'wait', waitsFor: 'provider' });
  });

  it('stays closed when an answer comes between failures', async () => {
    const entry = newEntry();
    const [job = ''] = await world.jobs(await world.account(), 1, entry);
    await fail(entry, 4);
    expect(await recordProviderSuccess(world.ledger.pool, entry)).toBe(false);
    await fail(entry, 4);
    expect(await goes(job)).toBe('submit');
  });

  it('doubles the time that it stays open, up to five minutes', async () => {
    const entry = newEntry();
    await fail(entry, 4);
    const pauses: (number | undefined)[] = [];
    for (let time = 0; time < 8; time += 1) {
      pauses.push(...(await fail(entry, 1)));
      await rest(entry);
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300].map((seconds) => seconds * 1_000));
  });

  it('is not opened again by calls that were in flight when it opened', async () => {
    const entry = newEntry();
    await fail(entry, 5);
    expect(await fail(entry, 10)).toEqual(Array(10).fill(undefined));
    await rest(entry);
    expect(await fail(entry, 1)).toEqual([10_000]);
  });

  it('admits one job when it is half open, and all jobs after an answer to that one', async () => {
    const entry = newEntry();
    const jobs = await world.jobs(await world.account(), 20, entry);
    await fail(entry, 5);
    await rest(entry);
    const gates = await Promise.all(jobs.map(goes));
    expect(gates.filter((go) => go === 'submit')).toHaveLength(1);
    expect(await recordProviderSuccess(world.ledger.pool, entry)).toBe(true);
    const left = jobs.filter((_, i) => gates[i] === 'wait');
    expect(await Promise.all(left.map(goes))).toEqual(left.map(() => 'submit'));
  });

  it('admits the next job when the first one was lost', async () => {
    const entry = newEntry();
    const [lost = '', next = ''] = await world.jobs(await world.account(), 2, entry);
    await fail(entry, 5);
    await rest(entry);
    expect([await goes(lost), await goes(next)]).toEqual(['submit', 'wait']);
    await world.ledger.owner.query(
      `update provider_health set probe_until = clock_timestamp() - interval '1 ms' where provider = $1`,
      [entry],
    );
    expect(await goes(next)).toBe('submit');
  });

  it('lets a job ask about an order that was submitted before', async () => {
    const entry = newEntry();
    const [job = ''] = await world.jobs(await world.account(), 1, entry);
    expect(await goes(job)).toBe('submit');
    await fail(entry, 5);
    expect(await goes(job)).toBe('ask');
  });
});

describe('the reader of circuit breakers', () => {
  it('reads them at most once a second, and counts down in between', async () => {
    const entry = newEntry();
    let statements = 0;
    let nowMs = 0;
    const counting = new Proxy(world.ledger.pool, {
      get(pool, name) {
        if (name === 'query') statements += 1;
        const value = Reflect.get(pool, name);
        return typeof value === 'function' ? value.bind(pool) : value;
      },
    });
    const circuits = watchCircuits(counting, () => nowMs);
    expect(await circuits.restsMs(entry)).toBeUndefined();
    await fail(entry, 5);
    nowMs = 999;
    expect(await circuits.restsMs(entry)).toBeUndefined();
    expect(statements).toBe(1);
    nowMs = 1_000;
    const first = (await circuits.restsMs(entry)) ?? 0;
    expect(first).toBeGreaterThan(4_000);
    nowMs = 1_900;
    expect(await circuits.restsMs(entry)).toBe(first - 900);
    expect(statements).toBe(2);
  });
});
