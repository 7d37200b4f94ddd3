/** Callbacks of providers about their jobs: which are accepted, what they wake, and how often. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callbackPath } from '../../infra/postgres/callbackToken.ts';
import type { GenerationProvider } from '../../providers/shared/provider.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { sendRaw } from './sendRaw.ts';
import { startApi, type TestApi } from './startApi.ts';

const ENTRY = 'calling';
const MEBIBYTE = 1024 * 1024;

let api: TestApi;
let world: FlowWorld;
/** The calls that the adapter received. */
const shown: { headers: Readonly<Record<string, string>>; body: Buffer }[] = [];

const stub: Pick<GenerationProvider, 'isGenuine'> = {
  async isGenuine(call) {
    shown.push(call);
    if (call.headers['x-signature'] === 'unreachable') throw new Error('the keys could not be fetched');
    return call.headers['x-signature'] === 'genuine';
  },
};

beforeAll(async () => {
  api = await startApi();
  world = await openFlowWorld(2, api.environment.DATABASE_URL);
  const adapters = new Map([
    [ENTRY, stub],
    ['silent', {}],
  ]);
  api.opened.dependencies.jobs.callers = () => adapters;
});
afterAll(async () => {
  await world.close();
  await api.stop();
});

/** Creates a submitted job with an open workflow that no worker runs. */
async function newJob(provider = ENTRY): Promise<string> {
  const [queueId = ''] = await world.jobs(await world.account(), 1, provider);
  await world.open(queueId);
  await api.opened.dependencies.jobs.temporal.client.workflow.start('generation', {
    workflowId: queueId,
    taskQueue: 'nobody',
    args: [],
  });
  return queueId;
}

async function signalsOf(queueId: string): Promise<(string | null | undefined)[]> {
  const handle = api.opened.dependencies.jobs.temporal.client.workflow.getHandle(queueId);
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal ? [signal.signalName] : [],
  );
}

const pathOf = (queueId: string, provider = ENTRY) =>
  callbackPath(api.opened.dependencies.core.sql, { queueId, provider });

interface Sent {
  signature?: string;
  body?: string;
}

async function call(path: string, { signature = 'genuine', body = '{"status":"done"}' }: Sent = {}) {
  const response = await api.call(path, {
    method: 'POST',
    headers: { 'x-signature': signature, 'content-type': 'application/json' },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

describe('a genuine call', () => {
  it('wakes its job, and reaches the adapter exactly as it arrived', async () => {
    const queueId = await newJob();
    expect(await call(await pathOf(queueId), { body: '{ "spaces":  "kept" }' })).toBe(200);
    expect(await signalsOf(queueId)).toEqual(['calledBack']);
    const { headers, body } = shown.at(-1) ?? {};
    expect(body?.toString()).toBe('{ "spaces":  "kept" }');
    expect(headers).toMatchObject({ 'x-signature': 'genuine', 'content-type': 'application/json' });
  });

  it('wakes its job once, however often it is repeated', async () => {
    const queueId = await newJob();
    const path = await pathOf(queueId);
    expect(await Promise.all(Array.from({ length: 10 }, () => call(path)))).toEqual(Array(10).fill(200));
    expect(await signalsOf(queueId)).toHaveLength(1);
  });

  it('wakes its job at most five times: further calls are accepted without effect', async () => {
    const queueId = await newJob();
    const path = await pathOf(queueId);
    for (let turn = 0; turn < 12; turn += 1) expect(await call(path, { body: `turn ${turn}` })).toBe(200);
    expect(await signalsOf(queueId)).toHaveLength(5);
  });

  it('is accepted below the short base path as well', async () => {
    const queueId = await newJob();
    const path = `${api.origin}/v1${await pathOf(queueId)}`;
    const { status } = await fetch(path, { method: 'POST', headers: { 'x-signature': 'genuine' }, body: '{}' });
    expect(status).toBe(200);
    expect(await signalsOf(queueId)).toEqual(['calledBack']);
  });

  it('about a job that has ended is accepted without effect', async () => {
    const queueId = await newJob();
    await world.finish(queueId);
    expect(await call(await pathOf(queueId))).toBe(200);
    expect(await signalsOf(queueId)).toEqual([]);
  });

  it('is accepted also when Temporal does not know the job', async () => {
    const [queueId = ''] = await world.jobs(await world.account(), 1, ENTRY);
    await world.open(queueId);
    expect(await call(await pathOf(queueId))).toBe(200);
  });
});

describe('any other call, which gets 404 and wakes no job,', () => {
  it.each(['forged', 'unreachable'])('with a signature that is %s', async (signature) => {
    const queueId = await newJob();
    expect(await call(await pathOf(queueId), { signature })).toBe(404);
    expect(await signalsOf(queueId)).toEqual([]);
  });

  it('with the token of another job or provider, or with an invalid one', async () => {
    const queueId = await newJob();
    const token = async (of: Promise<string>) => (await of).split('/').at(-1) ?? '';
    const own = await token(pathOf(queueId));
    const tokens = [
      await token(pathOf(randomUUID())),
      await token(pathOf(queueId, 'silent')),
      `${own.slice(0, -1)}${own.endsWith('A') ? 'B' : 'A'}`,
      `${own}A`,
      'x',
    ];
    const before = shown.length;
    for (const wrong of tokens) expect(await call(`/provider-callbacks/${ENTRY}/${queueId}/${wrong}`)).toBe(404);
    expect(await call(`/provider-callbacks/${ENTRY}/not-an-id/${own}`)).toBe(404);
    // Without a valid token the adapter does no work.
    expect(shown.length).toBe(before);
    expect(await signalsOf(queueId)).toEqual([]);
  });

  it('of a provider without signatures, or of an unknown one', async () => {
    for (const provider of ['silent', 'unknown']) {
      const queueId = await newJob(provider);
      expect(await call(await pathOf(queueId, provider))).toBe(404);
      expect(await signalsOf(queueId)).toEqual([]);
    }
  });
});

describe('the body of a call', () => {
  const head = (path: string) =>
    `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n` +
    'Expect: 100-continue\r\n\r\n';

  it('is requested when the token is valid, and is at most 1 MiB', async () => {
    const path = await pathOf(await newJob());
    expect(await sendRaw(api.port, head(path))).toMatch(/^HTTP\/1\.1 100 .*HTTP\/1\.1 413 /s);
  });

  it('is neither requested nor read when the job is unknown', async () => {
    const path = await pathOf(await newJob());
    for (const wrong of [`${path}A`, '/provider-callbacks/a/b/c']) {
      expect(await sendRaw(api.port, head(wrong))).toMatch(/^HTTP\/1\.1 404 /);
      expect(await call(wrong, { body: 'x'.repeat(MEBIBYTE + 1) })).toBe(404);
    }
  });
});

describe('the size of a call', () => {
  it('is at most 1 MiB', async () => {
    const queueId = await newJob();
    const path = await pathOf(queueId);
    expect(await call(path, { body: 'x'.repeat(MEBIBYTE) })).toBe(200);
    expect(await call(path, { body: 'x'.repeat(MEBIBYTE + 1) })).toBe(413);
  });
});
