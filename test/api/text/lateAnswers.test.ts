/** Answers after the deadline of the route: the client got a 504 and does not pay. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { chatRoute } from '../../../api/text/chatRoute.ts';
import { DRAIN_MS } from '../../../api/text/modelCall.ts';
import { until } from '../../harness/until.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const DEADLINE_MS = 2_000;

let world: TextWorld;
beforeAll(async () => {
  world = await startTextWorld(undefined, [{ ...chatRoute, deadlineMs: DEADLINE_MS } as Route]);
});
afterAll(() => world.close());

const bills = async () => {
  const { sql } = world.api.opened.dependencies.core;
  const { rows } = await sql.query<{ count: number }>(
    `select count(*)::int as count from transfers where account_id = $1 and kind = 'charge'`,
    [world.accountId],
  );
  return rows[0]?.count;
};

it('bills a complete answer in time, and none that comes after the 504', async () => {
  expect((await world.chat({})).status).toBe(200);
  await world.settled();
  const before = await bills();
  world.stub.next = [{ delayMs: DEADLINE_MS + 300 }];
  const late = await world.chat({});
  expect([late.status, await late.json()]).toEqual([504, expect.objectContaining({ error: expect.anything() })]);
  await sleep(DEADLINE_MS + 300);
  await world.settled();
  expect(await bills()).toBe(before);
});

it('bills all tokens that the service reports when the client left a complete answer early', async () => {
  const patient = await startTextWorld((config) => {
    const { stub } = config.providers;
    if (!stub) throw new Error('no stub');
    const timeouts = { connectMs: 1_000, firstByteMs: 20_000, idleMs: 1_500 };
    return { ...config, providers: { ...config.providers, stub: { ...stub, timeouts } } };
  });
  try {
    patient.stub.next = [{ delayMs: DRAIN_MS + 1_500 }];
    await patient.chat({}, { signal: AbortSignal.timeout(300) }).catch(() => undefined);
    const { sql } = patient.api.opened.dependencies.core;
    const made = async () => {
      const { rows } = await sql.query<{ tokens: string }>(
        'select completion_tokens::text as tokens from usage_entries where account_id = $1',
        [patient.accountId],
      );
      return rows.map(({ tokens }) => Number(tokens) > 0);
    };
    await expect.poll(made).toEqual([true]);
    await patient.settled();
  } finally {
    await patient.close();
  }
});

it('bills the output when the client leaves before the deadline', async () => {
  const before = (await bills()) ?? 0;
  const { length } = world.stub.received;
  world.stub.next = [{ delayMs: DEADLINE_MS / 4 }];
  const away = new AbortController();
  const asked = world.chat({ max_tokens: 10 }, { signal: away.signal }).catch(() => undefined);
  await until('the upstream is asked', () => world.stub.received.length > length);
  away.abort();
  await asked;
  await expect.poll(bills).toBe(before + 1);
});
