import { readFile } from 'node:fs/promises';
import Replicate, { validateWebhook } from 'replicate';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../providers/shared/provider.ts';
import { OWN_VERSION } from '../../stubs/replicate/models.ts';
import { type ReplicateStub, startReplicateStub } from '../../stubs/replicate/replicate.ts';
import { signedCall } from '../../stubs/replicate/webhooks.ts';
import { type Caller, createCaller, DEADLINE_MS, song } from './callReplicate.ts';
import { mp3, type Row, SUBMIT, succeeded } from './plans.ts';
import { QUESTIONS } from './questions.ts';
import { SUBMISSIONS } from './submissions.ts';

let stub: ReplicateStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller(() => stub);
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startReplicateStub();
});
afterEach(() => stub.close());

const LYRIA = 'google/lyria-2';
const INPUT = { prompt: 'a slow waltz' };

describe("the stub, called by the service's own SDK", () => {
  const client = (auth = stub.apiKey) => new Replicate({ auth, baseUrl: `${stub.baseUrl}/v1`, useFileOutput: false });

  async function failure(work: Promise<unknown>): Promise<string> {
    return await work.then(
      () => 'no failure',
      (error: unknown) => String(error),
    );
  }

  it('runs a model until its output is there, by waiting and by polling', async () => {
    stub.moments = [{ status: 'starting' }, { status: 'succeeded', output: 'https://replicate.delivery/a.mp3' }];
    expect(await client().run(LYRIA, { input: INPUT })).toBe('https://replicate.delivery/a.mp3');
    const wait = { mode: 'poll', interval: 1 } as const;
    expect(await client().run(LYRIA, { input: INPUT, wait })).toBe('https://replicate.delivery/a.mp3');
    expect(stub.requests).toEqual([
      `POST /v1/models/${LYRIA}/predictions`,
      `POST /v1/models/${LYRIA}/predictions`,
      expect.stringMatching(/^GET \/v1\/predictions\/p0+2$/),
    ]);
  });

  it('runs a version, lists predictions and reports their progress', async () => {
    stub.moments = [{ status: 'starting' }, { status: 'processing', logs: '42%|████ | 21/50 [00:01<00:01]' }];
    const made = await client().predictions.create({ version: OWN_VERSION, input: { anything: 1 } });
    expect(made).toMatchObject({ status: 'starting', version: OWN_VERSION, output: null, error: null });
    expect(await client().predictions.get(made.id)).toMatchObject({ status: 'processing' });
    expect((await client().predictions.list()).results).toMatchObject([{ id: made.id, input: { anything: 1 } }]);
  });

  it('cancels a running prediction and leaves a finished one unchanged', async () => {
    const running = await client().predictions.create({ model: LYRIA, input: INPUT });
    expect(await client().predictions.cancel(running.id)).toMatchObject({ status: 'canceled' });
    stub.moments = [{ status: 'succeeded', output: 'https://replicate.delivery/a.mp3' }];
    const ended = await client().predictions.create({ model: LYRIA, input: INPUT });
    expect(await client().predictions.cancel(ended.id)).toMatchObject({ status: 'succeeded' });
  });

  it('refuses a wrong token, an unknown model or version, wrong inputs and an empty account', async () => {
    const create = (model: string, input: object = INPUT) => client().predictions.create({ model, input });
    expect(await failure(client('wrong').predictions.list())).toContain('401');
    expect(await failure(create('nobody/nothing'))).toContain('404');
    expect(await failure(client().predictions.create({ version: 'f00', input: {} }))).toContain('Invalid version');
    expect(await failure(create(LYRIA, {}))).toContain('prompt is required');
    expect(await failure(create(LYRIA, { ...INPUT, mood: 'sad' }))).toContain('Additional property mood');
    const webhook = 'http://plain.example/';
    expect(await failure(client().predictions.create({ model: LYRIA, input: INPUT, webhook }))).toContain('HTTPS');
    stub.insufficientCredit = true;
    expect(await failure(create(LYRIA))).toContain('402');
    expect(stub.predictions).toHaveLength(0);
  });

  it('throttles, and accepts the throttled request later', async () => {
    stub.throttled = 2;
    expect(await client().predictions.create({ model: LYRIA, input: INPUT })).toMatchObject({
      status: 'starting',
    });
    expect(stub.requests).toHaveLength(3);
    stub.throttled = 100;
    expect(await failure(client().predictions.create({ model: LYRIA, input: INPUT }))).toContain('429');
  });

  it('stores files', async () => {
    const file = await client().files.create(new Blob(['abc'], { type: 'text/plain' }));
    expect(file).toMatchObject({ size: 3, content_type: 'text/plain', urls: { get: expect.any(String) } });
    expect(await client().files.get(file.id)).toMatchObject({ id: file.id });
    expect(await client().files.delete(file.id)).toBe(true);
    expect(await failure(client().files.get(file.id))).toContain('404');
  });

  it('signs its callbacks so that the SDK accepts them, and no others', async () => {
    const { key } = await client().webhooks.default.secret.get();
    const { headers, body } = signedCall({ id: 'p1', status: 'succeeded' });
    const valid = (call: { headers: Record<string, string>; body: string }, secret = key) =>
      validateWebhook(
        {
          id: call.headers['webhook-id'] ?? '',
          timestamp: call.headers['webhook-timestamp'] ?? '',
          signature: call.headers['webhook-signature'] ?? '',
          body: call.body,
          secret,
        },
        globalThis.crypto,
      );
    expect(await valid({ headers, body: body.toString() })).toBe(true);
    expect(await valid({ headers, body: body.toString().replace('p1', 'p2') })).toBe(false);
    expect(await valid({ headers, body: body.toString() }, 'whsec_b3RoZXI=')).toBe(false);
  });
});

async function outcomeOf({ plan, order = song }: Row, checked: boolean): Promise<Outcome | undefined> {
  plan(stub);
  const started = await caller.start(order());
  if (!checked) return started;
  if (started.status !== 'running') throw new Error(`not accepted: ${JSON.stringify(started)}`);
  return await caller.check(started.operation);
}

describe('an order', () => {
  it.each(SUBMISSIONS)('that $when has the outcome of the table', async (row) => {
    expect(await outcomeOf(row, false)).toMatchObject(row.outcome);
  });

  it('is not accepted when nothing listens', async () => {
    const baseUrl = stub.baseUrl;
    await stub.close();
    const outcome = await caller.provider({ baseUrl }).start(song(), await caller.context());
    expect(outcome).toMatchObject({ status: 'busy', reason: 'overloaded' });
  });

  it('of an unsupported kind is refused without a call', async () => {
    const voice = { removeBackgroundNoise: false, sourceSeconds: 1, voice: 'Aria' };
    const source = { sourcePath: '/none', sourceContentType: 'audio/wav', sourceDemuxer: 'wav' };
    const order = {
      kind: 'voice-changer',
      reference: 'r',
      upstreamModel: 'a/b',
      ...voice,
      ...source,
    } as const;
    expect(await caller.provider().start(order, await caller.context())).toMatchObject({
      reason: 'credential',
    });
    expect(stub.requests).toEqual([]);
  });

  it('is submitted once, whatever happens to the reply', async () => {
    stub.faults.push({ at: SUBMIT, fault: { kind: 'lost' } });
    await caller.start(song());
    expect(stub.predictions).toHaveLength(1);
    expect(caller.provider()).not.toHaveProperty('find');
    expect(caller.provider().repeatable).toBe(false);
  });

  it("ends at the service at the job's deadline, and calls back at its end", async () => {
    await caller.start(song(), { callbackUrl: 'https://farebox.example/callbacks/1' });
    await caller.start(song({ upstreamModel: `acme/anything:${OWN_VERSION}` }), {
      callbackUrl: 'http://farebox/1',
    });
    expect(stub.predictions).toMatchObject([
      {
        cancelAfterSeconds: DEADLINE_MS / 1_000,
        webhook: 'https://farebox.example/callbacks/1',
        webhook_events_filter: ['completed'],
      },
      { version: OWN_VERSION },
    ]);
    expect(stub.predictions[1]).not.toHaveProperty('webhook');
    const hasty = caller.provider({ deadlineMs: 1 });
    expect(await hasty.start(song(), await caller.context())).toMatchObject({ status: 'running' });
    expect(stub.predictions[2]?.cancelAfterSeconds).toBe(5);
  });

  it('can be cancelled, and a lost cancellation does no harm', async () => {
    const started = await caller.start(song());
    if (started.status !== 'running') throw new Error(JSON.stringify(started));
    const provider = caller.provider();
    await provider.cancel?.(started.operation, await caller.context());
    expect(stub.predictions[0]?.status).toBe('canceled');
    stub.faults.push({ at: 'POST /v1/predictions/', fault: { kind: 'lost' } });
    await provider.cancel?.(started.operation, await caller.context());
  });

  it.each([
    { what: 'that had not started', moment: { status: 'starting' }, isStopped: true },
    { what: 'that was aborted', moment: { status: 'aborted' }, isStopped: true },
    { what: 'that runs', moment: { status: 'processing' }, isStopped: false },
    { what: 'that has ended', moment: { status: 'succeeded' }, isStopped: false },
    {
      what: 'of which the service does not tell whether it started',
      moment: { status: 'canceled', started_at: undefined },
      isStopped: false,
    },
  ])('is stopped without cost by the cancellation of one $what: $isStopped', async ({ moment, isStopped }) => {
    const started = await caller.start(song());
    if (started.status !== 'running') throw new Error(JSON.stringify(started));
    Object.assign(stub.predictions[0] ?? {}, moment);
    expect(await caller.provider().cancel?.(started.operation, await caller.context())).toBe(isStopped);
  });
});

describe('a prediction', () => {
  it.each(QUESTIONS)('that $when has the outcome of the table', async (row) => {
    expect(await outcomeOf(row, true)).toMatchObject(row.outcome);
  });

  it('is delivered byte by byte, and its host never receives the token', async () => {
    const outcome = await outcomeOf({ when: '', plan: succeeded((at) => at, { body: mp3 }), outcome: {} }, true);
    if (outcome?.status !== 'done') throw new Error(JSON.stringify(outcome));
    expect(await readFile(outcome.output.path)).toEqual(mp3);
    expect(outcome.output.providerReference).toContain(stub.predictions[0]?.id);
    expect(stub.deliveryCredentials).toEqual([undefined]);
  });
});
