/** Answers after the deadline of the route: the client got a 504 and does not pay. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { chatRoute } from '../../../api/text/chatRoute.ts';
import { DRAIN_MS } from '../../../api/text/modelCall.ts';
import { type HeldTimers, holdTimers } from '../../harness/heldTimers.ts';
import { until } from '../../harness/until.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

/** No other timer has this length. */
const DEADLINE_MS = 2_001;

let deadlines: HeldTimers;
let world: TextWorld;
beforeAll(async () => {
  deadlines = holdTimers(DEADLINE_MS);
  world = await startTextWorld(undefined, [{ ...chatRoute, deadlineMs: DEADLINE_MS } as Route]);
});
afterAll(async () => {
  deadlines.release();
  await world.close();
});

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
  const { length } = world.stub.received;
  let answer: () => void = () => undefined;
  const delay = new Promise<void>((resolve) => {
    answer = resolve;
  });
  world.stub.next = [{ delay }];
  const asked = world.chat({});
  await until('the upstream is asked', () => world.stub.received.length > length);
  deadlines.fire();
  const late = await asked;
  expect([late.status, await late.json()]).toEqual([504, expect.objectContaining({ error: expect.anything() })]);
  answer();
  await world.settled();
  expect(await bills()).toBe(before);
});

it('bills all tokens that the service reports when the client left a complete answer early', async () => {
  const patient = await startTextWorld((config) => {
    const { stub } = config.providers;
    if (!stub) throw new Error('no stub');
    const timeouts = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 };
    return { ...config, providers: { ...config.providers, stub: { ...stub, timeouts } } };
  });
  try {
    patient.stub.next = [{ delayMs: DRAIN_MS + 1_500 }];
    const left = new AbortController();
    const asked = patient.chat({}, { signal: left.signal }).catch(() => undefined);
    await until('the upstream is asked', () => patient.stub.received.length > 0);
    left.abort();
    await asked;
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
  let answer: () => void = () => undefined;
  const delay = new Promise<void>((resolve) => {
    answer = resolve;
  });
  world.stub.next = [{ delay }];
  const away = new AbortController();
  const asked = world.chat({ max_tokens: 10 }, { signal: away.signal }).catch(() => undefined);
  await until('the upstream is asked', () => world.stub.received.length > length);
  away.abort();
  await asked;
  setTimeout(answer, 500);
  await expect.poll(bills).toBe(before + 1);
});
