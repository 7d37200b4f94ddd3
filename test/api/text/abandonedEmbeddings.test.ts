/** Embeddings whose client leaves before the reply: the service makes them, so the reply is read and billed. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { EmbeddingModel } from '../../../domain/catalogue/model.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { until } from '../../harness/until.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

let world: TextWorld;

beforeAll(async () => {
  const embedding: EmbeddingModel = {
    ...textModel({ id: 'embedder', upstreamModel: 'embed-stub' }),
    ...{ kind: 'embedding', type: 'embedding', spec: { pricing: { input: { usd: 1, diem: 1 } } } },
  };
  world = await startTextWorld((config) => {
    const models = [...config.models, embedding];
    return { ...config, models, modelCatalogue: createCatalogue(models) };
  });
});
afterEach(async () => {
  await world.settled();
  expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
});
afterAll(() => world.close());

async function entries(): Promise<{ nano: string; prompt: number; notes: string }[]> {
  const { rows } = await world.api.opened.dependencies.core.sql.query(
    `select amount_nano::text as nano, prompt_tokens::int as prompt, notes
       from usage_entries where account_id = $1 order by id`,
    [world.accountId],
  );
  return rows;
}

/** Requests embeddings and disconnects once the service received the request. */
async function leaveEmbeddings(script: ChatScript, afterwards: () => void = () => undefined): Promise<void> {
  const { length } = world.stub.received;
  world.stub.next.push(script);
  const away = new AbortController();
  let isKnown = false;
  world.api.server.once('request', (_request, response) => {
    response.once('close', () => {
      isKnown = true;
    });
  });
  const call = world.api.call('/embeddings', {
    ...{ method: 'POST', key: world.key, signal: away.signal },
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'embedder', input: ['The fare is paid.', `Call ${randomUUID()}`] }),
  });
  await until('the service is asked', () => world.stub.received.length > length);
  away.abort();
  await expect(call).rejects.toThrow();
  await until('the departure is known', () => isKnown);
  afterwards();
  await until('the call is over', () => world.api.inFlight.count === 0);
}

it('bills embeddings by the token count of the service', async () => {
  const before = await entries();
  await leaveEmbeddings({ delayMs: 500 });
  const [entry] = (await entries()).slice(before.length);
  expect(world.stub.received.at(-1)?.aborted).toBe(false);
  expect(entry).toMatchObject({ nano: String((entry?.prompt ?? 0) * 1_000), notes: 'API Inference' });
  expect(entry?.prompt).toBeGreaterThan(0);
});

it('charges nothing when the service fails', async () => {
  const before = await entries();
  await leaveEmbeddings({ delayMs: 200, status: 500, body: { error: { message: 'no' } } });
  expect(await entries()).toEqual(before);
});

it('bills embeddings by the local token count when the process ends before the reply', async () => {
  const before = await entries();
  await leaveEmbeddings({ hang: 'head' }, () => world.api.inFlight.end());
  const [entry] = (await entries()).slice(before.length);
  expect(entry?.prompt).toBeGreaterThan(0);
  expect(entry?.notes).toContain('tokens counted here');
});
