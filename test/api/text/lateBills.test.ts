/** A bill that cannot be written before the deadline: the client gets a 504 and pays nothing. */
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../../api/http/answer.ts';
import { defineRoute, type Route } from '../../../api/http/route.ts';
import { type AnswerTerms, purchaseAnswer } from '../../../api/paid/purchase.ts';
import { chatRoute } from '../../../api/text/chatRoute.ts';
import { decisionRoutes } from '../../../api/text/decisions/decisionRoutes.ts';
import { embeddingsRoute } from '../../../api/text/embeddings.ts';
import { responsesRoute } from '../../../api/text/responses/responsesRoute.ts';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { EmbeddingModel, Model } from '../../../domain/catalogue/model.ts';
import { armFailpoints } from '../../../infra/failpoints.ts';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { type HeldTimers, holdTimers } from '../../harness/heldTimers.ts';
import { services } from '../../harness/services.ts';
import { until } from '../../harness/until.ts';
import { decisionModel } from './decisionWorld.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

/** No other timer has this length. */
const DEADLINE_MS = 2_501;
/** For the attempt to write a bill, which the lock ends in any case. */
const WRITE_MS = 1_000;
const PRICE = { usd: 5_000_000n, diem: 5_000_000n };

const soldAt = (path: string, settles: AnswerTerms['settles']) =>
  defineRoute({
    method: 'POST',
    path,
    access: 'key',
    deadlineMs: DEADLINE_MS,
    handler: (dependencies, request) => {
      const snapshot = {
        ...{ sku: 'test-sold', modelId: 'test', provider: 'test', unit: 'file', units: '1' },
        ...{ pricePerUnitUsd: '5000000', requestId: request.requestId },
      };
      const purchase = { price: PRICE, snapshot, ttlMs: 60_000 };
      const work = async () => json(await workOn());
      return purchaseAnswer(dependencies, request, { purchase, settles, work });
    },
  });
const sold = soldAt('/test/sold', 'at its first byte');
const once = soldAt('/test/once', 'before the answer');

let deadlines: HeldTimers;
let world: TextWorld;
/** The work of the two test routes. */
let workOn: () => Promise<object>;

beforeAll(async () => {
  deadlines = holdTimers(DEADLINE_MS);
  const embedding: EmbeddingModel = {
    ...{
      ...textModel({ id: 'embedder', upstreamModel: 'embed-stub' }),
      kind: 'embedding',
      type: 'embedding',
    },
    spec: { pricing: { input: { usd: 1, diem: 1 } } },
  };
  const own: Model[] = [embedding, decisionModel({})];
  const patched = [chatRoute, responsesRoute, embeddingsRoute, ...decisionRoutes];
  const routes = patched.map((route) => ({ ...route, deadlineMs: DEADLINE_MS }) as Route);
  world = await startTextWorld(
    (config) => {
      const models = [...config.models, ...own];
      return { ...config, models, modelCatalogue: createCatalogue(models) };
    },
    [...routes, sold, once],
  );
});

afterAll(async () => {
  deadlines.release();
  await world.close();
});

/** Locks the row of the account, so that no write to it succeeds. */
async function lockAccount(): Promise<() => Promise<void>> {
  const client = await world.api.opened.dependencies.core.sql.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [world.accountId]);
  return async () => {
    await client.query('rollback');
    client.release();
  };
}

async function funds(): Promise<bigint | undefined> {
  return (await balanceOf(world.api.opened.dependencies.core.sql, world.accountId))?.usd;
}

const QUESTIONS = { broken: { type: 'noul', instructions: 'Is it broken?' } };
const ORDERS: Record<string, [path: string, body: object]> = {
  chat: ['/chat/completions', { model: 'gpt-stub', messages: [{ role: 'user', content: 'Hello' }] }],
  responses: ['/responses', { model: 'gpt-stub', input: 'Hello' }],
  embeddings: ['/embeddings', { model: 'embedder', input: 'Hello' }],
  decisions: ['/decisions', { model: 'judge', state: 'It broke.', questions: QUESTIONS }],
  'a delivery': ['/test/sold', {}],
  'a fixed price': ['/test/once', {}],
};

const post = (path: string, body: object) =>
  world.api.call(path, {
    ...{ method: 'POST', key: world.key },
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Resolves when the work of the request has begun, which is after its hold. */
async function begun(path: string, body: object): Promise<{ answer: Promise<Response>; finish(): void }> {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begin: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    begin = resolve;
  });
  workOn = async () => {
    begin();
    await finished;
    return {};
  };
  const { length } = world.stub.received;
  world.stub.next.push({ delay: finished, alternatives: { yes: 0.9, no: 0.1 } });
  const answer = post(path, body);
  if (path.startsWith('/test/')) await started;
  else await until('the upstream is asked', () => world.stub.received.length > length);
  world.stub.next = [];
  return { answer, finish };
}

describe.each(Object.entries(ORDERS))('%s', (_name, [path, body]) => {
  it('costs nothing where Postgres stalls through the deadline, and something in time', async () => {
    const before = await funds();
    const { answer, finish } = await begun(path, body);
    const unlock = await lockAccount();
    finish();
    await sleep(WRITE_MS);
    deadlines.fire();
    const response = await answer.finally(unlock);
    expect(response.status).toBe(504);
    await world.settled();
    await until('nothing is in flight', () => world.api.inFlight.count === 0);
    expect(await funds()).toBe(before);
    const inTime = await begun(path, body);
    inTime.finish();
    expect((await inTime.answer).status).toBe(200);
    await world.settled();
    expect(await funds()).toBeLessThan(before ?? 0n);
    expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
  });
});

it('gives back what was taken where the deadline passes between the bill and the answer', async () => {
  const before = await funds();
  const file = join(services().folder, `sale-point-${randomUUID()}`);
  writeFileSync(file, 'sale-settled:pause:1:3000');
  armFailpoints(`@${file}`);
  try {
    const { answer, finish } = await begun('/test/sold', {});
    finish();
    await until('it is billed', () => existsSync(`${file}.fired`));
    deadlines.fire();
    expect((await answer).status).toBe(504);
    await until('nothing is in flight', () => world.api.inFlight.count === 0);
  } finally {
    armFailpoints(undefined);
  }
  expect(await funds()).toBe(before);
  const { rows } = await world.api.opened.dependencies.core.sql.query(
    `select kind from transfers where account_id = $1 order by id desc limit 2`,
    [world.accountId],
  );
  expect(rows).toEqual([{ kind: 'refund' }, { kind: 'charge' }]);
  expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
});
