/** Orders that reached Temporal while their reply was lost. The client's answer agrees with the ledger. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { services } from '../harness/services.ts';
import { type Severable, severable } from '../harness/severable.ts';
import type { ApiClient, Reply } from './client.ts';
import { eventually } from './deployment.ts';
import { complete, queueFile, untilState } from './orders.ts';
import { configuration, expectNothingLeft, farebox, short, useVoiceChangerWorld } from './voiceChangerWorld.ts';

useVoiceChangerWorld();

const PRICE = 50_000_000n;
const LIMIT_MS = 120_000;

interface CutOff {
  client: ApiClient;
  way: Severable;
  stop(): Promise<void>;
}

/** Starts an API process whose connection to Temporal the test can cut. */
async function withCutOff(
  work: (cutOff: CutOff) => Promise<void>,
  variables: Record<string, string> = {},
): Promise<void> {
  const way = await severable(services().temporal.address);
  const further = { ...variables, TEMPORAL_ADDRESS: way.address };
  const { client, stop } = await farebox.anotherApi(configuration, further);
  try {
    await work({ client, way, stop });
  } finally {
    await stop();
    way.close();
  }
}

async function jobsBeside(known: readonly string[]): Promise<{ queueId: string; state: string }[]> {
  const { rows } = await farebox.pool.query<{ queueId: string; state: string }>(
    'select queue_id as "queueId", state from jobs where queue_id <> all ($1::uuid[])',
    [known],
  );
  return rows;
}

const knownJobs = async () => (await jobsBeside([])).map(({ queueId }) => queueId);

/** Sends an order. Cuts the connection once the job is charged and stored, before the reply arrives. */
async function orderAndLoseReply(
  { client, way }: CutOff,
  headers: Record<string, string>,
): Promise<{ replied: Promise<Reply>; queueId: string }> {
  const known = await knownJobs();
  way.loseReplies();
  const replied = queueFile(client, { model: 'quick-voice', source: short, call: { headers } });
  replied.catch(() => undefined);
  const { queueId } = await eventually(
    async () => (await jobsBeside(known)).find(({ state }) => state === 'stored'),
    60_000,
  );
  way.sever();
  return { replied, queueId };
}

describe('an order that was charged and whose reply was lost', () => {
  it.each([
    ['without a key', {}],
    ['with a key', { 'idempotency-key': `lost-${randomUUID()}` }],
  ])(
    'is reported as accepted, %s',
    (_what, headers) =>
      withCutOff(async (cutOff) => {
        const { api } = farebox.account;
        const before = await farebox.moneyOf(farebox.account);
        const { replied, queueId } = await orderAndLoseReply(cutOff, headers);
        const reply = await replied;
        expect([reply.status, reply.body.queue_id]).toEqual([200, queueId]);
        expect(before - (await farebox.moneyOf(farebox.account))).toBe(PRICE);
        expect(await untilState(api, queueId, 'stored')).toBeDefined();
        await complete(api, { model: 'quick-voice', queueId });
        await expectNothingLeft();
      }),
    LIMIT_MS,
  );

  it(
    'is told as accepted by a process that is told to stop meanwhile',
    () =>
      withCutOff(async (cutOff) => {
        const before = await farebox.moneyOf(farebox.account);
        const { replied, queueId } = await orderAndLoseReply(cutOff, {});
        const stopped = cutOff.stop();
        const reply = await replied;
        await stopped;
        expect([reply.status, reply.body.queue_id]).toEqual([200, queueId]);
        expect(before - (await farebox.moneyOf(farebox.account))).toBe(PRICE);
        await complete(farebox.account.api, { model: 'quick-voice', queueId });
        await expectNothingLeft();
      }),
    LIMIT_MS,
  );
});

it(
  'does not report an order as free whose outcome the database cannot tell, and keeps it for its key',
  async () => {
    const database = new URL(farebox.environment.DATABASE_URL ?? '');
    const wayToDatabase = await severable(database.host);
    database.host = wayToDatabase.address;
    await withCutOff(
      async (cutOff) => {
        const before = await farebox.moneyOf(farebox.account);
        const headers = { 'idempotency-key': `undecided-${randomUUID()}` };
        const { replied, queueId } = await orderAndLoseReply(cutOff, headers);
        wayToDatabase.sever();
        const reply = await replied;
        expect(reply.status).toBe(503);
        expect(reply.body.error).toContain(queueId);
        expect(reply.body.error).not.toContain('Nothing was charged');
        const again = await queueFile(farebox.account.api, {
          ...{ model: 'quick-voice', source: short },
          call: { headers },
        });
        expect([again.status, again.body.queue_id]).toEqual([200, queueId]);
        expect(before - (await farebox.moneyOf(farebox.account))).toBe(PRICE);
        await complete(farebox.account.api, { model: 'quick-voice', queueId });
        await expectNothingLeft();
      },
      { DATABASE_URL: database.href },
    );
    wayToDatabase.close();
  },
  LIMIT_MS,
);

describe('an order reported as not charged', () => {
  it(
    'is never charged, whenever a worker comes to it and whether or not the process stops',
    () =>
      withCutOff(async ({ client, way, stop }) => {
        const before = await farebox.moneyOf(farebox.account);
        const known = await knownJobs();
        farebox.worker.kill('SIGSTOP');
        try {
          way.loseReplies();
          const replied = queueFile(client, { model: 'endless-voice', source: short });
          // The order is in Temporal without a worker that polls.
          await eventually(async () => ((await farebox.openWorkflows()).length > 0 ? true : undefined), 60_000);
          way.sever();
          const stopped = stop();
          const reply = await replied;
          await stopped;
          expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '5']);
          expect(reply.body.error).toContain('Nothing was charged');
        } finally {
          farebox.worker.kill('SIGCONT');
        }
        await eventually(async () => ((await farebox.openWorkflows()).length === 0 ? true : undefined), 60_000);
        expect(await jobsBeside(known)).toEqual([]);
        expect(await farebox.moneyOf(farebox.account)).toBe(before);
        await expectNothingLeft();
      }),
    LIMIT_MS,
  );
});
