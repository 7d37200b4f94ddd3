/** An upstream that counts more than the hold: that count bills a complete answer, the hold an abandoned one. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { ledgerOverruns, ledgerOverrunUsd } from '../../../infra/telemetry/counters.ts';
import { until } from '../../harness/until.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const USAGE = { prompt_tokens: 40, completion_tokens: 5_000, total_tokens: 5_040 };
const COST = 40n * 1_000n + 5_000n * 2_000n;

let world: TextWorld;
beforeAll(async () => {
  world = await startTextWorld();
});
afterAll(async () => {
  expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
  await world.close();
});

async function spentBy(act: () => Promise<unknown>): Promise<bigint> {
  const funds = async () => (await balanceOf(world.api.opened.dependencies.core.sql, world.accountId))?.usd ?? 0n;
  const before = await funds();
  await act();
  await world.settled();
  return before - (await funds());
}

it.each([false, true])('bills the usage of the service, and reports it to the client (stream: %s)', async (stream) => {
  let told: { cost: { usd: number } } | undefined;
  const spent = await spentBy(async () => {
    world.stub.next.push({ usage: USAGE });
    const text = await (await world.chat({ max_tokens: 10, stream })).text();
    const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: {'));
    told = JSON.parse(stream ? (frames.at(-1) ?? '').slice('data: '.length) : text);
  });
  expect([spent, BigInt(Math.round((told?.cost.usd ?? 0) * 1e9))]).toEqual([COST, COST]);
});

it('bills at most the hold when the client left, and logs and counts the overrun', async () => {
  const usdOf = async () =>
    new Map((await ledgerOverrunUsd.get()).values.map(({ labels, value }) => [labels.outcome, value]));
  const countOf = async () =>
    (await ledgerOverruns.get()).values.find(({ labels }) => labels.cause === 'left_above_hold')?.value ?? 0;
  const [before, countBefore] = [await usdOf(), await countOf()];
  const dry = await world.chat({ max_tokens: 10 }, { headers: { 'x-service-dry-run': 'true' } });
  const { bounds } = (await dry.json()) as { bounds: { cost: { usd: number } }[] };
  const bound = BigInt(Math.round((bounds[0]?.cost.usd ?? 0) * 1e9));
  const frame = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub', usage: USAGE };
  const choices = [{ index: 0, delta: { content: ' word' }, finish_reason: null }];
  const spent = await spentBy(async () => {
    world.stub.next.push({
      frames: [
        { ...frame, choices },
        { ...frame, choices: [] },
      ],
      hang: 1,
    });
    const away = new AbortController();
    const response = await world.chat({ max_tokens: 10, stream: true }, { signal: away.signal });
    await response.body?.getReader().read();
    away.abort();
    await until('the upstream is left', () => world.stub.received.at(-1)?.aborted === true);
  });
  expect(spent).toBe(bound);
  expect((await countOf()) - countBefore).toBe(1);
  const after = await usdOf();
  expect((after.get('left') ?? 0) - (before.get('left') ?? 0)).toBeCloseTo(Number(COST - bound) / 1e9, 9);
  expect([after.get('missing'), after.get('taken')]).toEqual([before.get('missing'), before.get('taken')]);
  const line = world.api.log.find((each) => each.includes('left_above_hold'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    billUsd: Number(COST) / 1e9,
    heldUsd: Number(bound) / 1e9,
  });
});
