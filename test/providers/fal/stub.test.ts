import { createHash, createPublicKey, verify } from 'node:crypto';
import { ApiError, createFalClient, type FalClient, ValidationError } from '@fal-ai/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FalStub, startFalStub } from '../../stubs/fal/fal.ts';
import { newSigningKey, toJwk } from '../../stubs/fal/webhooks.ts';
import { STUB_VIDEO } from '../../stubs/smallMedia.ts';
import { MUSIC, VIDEO } from './callFal.ts';

let stub: FalStub;
beforeEach(async () => {
  stub = await startFalStub();
});
afterEach(() => stub.close());

const HOSTS = ['queue.fal.run', 'rest.fal.ai'];

/** The service's own client, with its fixed hosts redirected to the stub. */
function client(credentials = stub.apiKey): FalClient {
  const rerouted: typeof fetch = (input, init) => {
    const url = new URL(String(input));
    const own = new URL(stub.baseUrl);
    if (url.host !== own.host && !HOSTS.includes(url.host)) throw new Error(`an unknown host: ${url.host}`);
    return fetch(new URL(`${url.pathname}${url.search}`, own), init);
  };
  return createFalClient({ credentials, fetch: rerouted, retry: { maxRetries: 0 } });
}

async function failure(work: Promise<unknown>): Promise<ApiError<unknown>> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`no error of the client: ${String(error)}`);
  return error;
}

const INPUT = { prompt: 'a red panda', duration: '5', resolution: '720p' } as const;

describe("the stub, called by the service's own client", () => {
  it('accepts an order, reports its states, and returns its output', async () => {
    stub.steps = [
      { status: 'IN_QUEUE', queuePosition: 2 },
      { status: 'IN_PROGRESS', logs: [' 45%|████'] },
    ];
    const { queue } = client();
    const accepted = await queue.submit(VIDEO, { input: INPUT });
    const requestId = accepted.request_id;
    expect(accepted).toMatchObject({ status: 'IN_QUEUE', queue_position: 0 });
    expect(stub.orders).toMatchObject([{ model: VIDEO, input: INPUT, webhook: undefined }]);
    expect(await queue.status(VIDEO, { requestId })).toMatchObject({ status: 'IN_QUEUE', queue_position: 2 });
    expect(await queue.status(VIDEO, { requestId, logs: true })).toMatchObject({
      status: 'IN_PROGRESS',
      logs: [{ message: ' 45%|████' }],
    });
    expect(await queue.status(VIDEO, { requestId })).toMatchObject({ status: 'COMPLETED' });
    const result = await queue.result(VIDEO, { requestId });
    expect(result.requestId).toBe(requestId);
    const { video } = result.data as { video: { url: string } };
    expect(Buffer.from(await (await fetch(video.url)).arrayBuffer())).toEqual(STUB_VIDEO);
  });

  it('answers a client that waits for the output', async () => {
    stub.steps = [{ status: 'IN_QUEUE' }];
    const seen: string[] = [];
    const result = await client().subscribe(MUSIC, {
      input: { prompt: 'calm rain', seconds_total: 10 },
      pollInterval: 1,
      onQueueUpdate: ({ status }) => seen.push(status),
    });
    expect(seen).toEqual(['IN_QUEUE', 'COMPLETED']);
    expect(result.data).toMatchObject({ audio: { content_type: 'audio/mpeg' } });
  });

  it('refuses a wrong key, a locked account, an unknown model and an unknown order', async () => {
    expect(await failure(client('wrong').queue.submit(VIDEO, { input: INPUT }))).toMatchObject({
      status: 401,
    });
    const unknown = await failure(client().queue.submit('fal-ai/nothing/here', { input: {} }));
    expect(unknown).toMatchObject({ status: 404, body: { detail: expect.stringContaining('not found') } });
    const lost = await failure(client().queue.status(VIDEO, { requestId: 'nobody' }));
    expect(lost.status).toBe(404);
    stub.locked = true;
    const locked = await failure(client().queue.submit(VIDEO, { input: INPUT }));
    expect(locked).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('Exhausted balance') },
    });
    expect(stub.orders).toHaveLength(0);
  });

  it("accepts an invalid order and returns the model's errors as its result", async () => {
    const { queue } = client();
    const wrong = { duration: '7' } as unknown as typeof INPUT;
    const { request_id: requestId } = await queue.submit(VIDEO, { input: wrong });
    expect(await queue.status(VIDEO, { requestId })).toMatchObject({ status: 'COMPLETED' });
    const error = await failure(queue.result(VIDEO, { requestId }));
    if (!(error instanceof ValidationError)) throw new Error('not the error of wrong fields');
    expect(error.requestId).toBe(requestId);
    expect(error.getFieldErrors('prompt')).toMatchObject([{ msg: 'Field required', type: 'missing' }]);
    expect(error.getFieldErrors('duration')).toMatchObject([{ type: 'literal_error' }]);
    const refused = await queue.submit(VIDEO, { input: { ...INPUT, prompt: 'something forbidden' } });
    const policy = await failure(queue.result(VIDEO, { requestId: refused.request_id }));
    expect(policy).toMatchObject({ status: 422, body: { detail: [{ type: 'content_policy_violation' }] } });
  });

  it('answers a rate limit, which the client retries, and a platform error', async () => {
    const headers = { 'retry-after': '1' };
    stub.faults.submit = [{ kind: 'reply', status: 429, headers, body: { detail: 'Too many requests' } }];
    expect(await client().queue.submit(VIDEO, { input: INPUT })).toMatchObject({ status: 'IN_QUEUE' });
    const body = { detail: 'Internal error', error_type: 'internal_error' };
    stub.faults.submit = [{ kind: 'reply', status: 500, body }];
    const broken = await failure(client().queue.submit(VIDEO, { input: INPUT }));
    expect(broken).toMatchObject({ status: 500, body: { error_type: 'internal_error' } });
    expect(stub.orders).toHaveLength(1);
  });

  it('cancels only an order that is not complete', async () => {
    stub.steps = [{ status: 'IN_QUEUE' }];
    const { queue } = client();
    const { request_id: requestId } = await queue.submit(VIDEO, { input: INPUT });
    await queue.cancel(VIDEO, { requestId });
    expect(stub.orders[0]?.cancelled).toBe(true);
    await queue.status(VIDEO, { requestId });
    const late = await failure(queue.cancel(VIDEO, { requestId }));
    expect(late).toMatchObject({ status: 400, body: { status: 'ALREADY_COMPLETED' } });
    expect((await failure(queue.cancel(VIDEO, { requestId: 'nobody' }))).status).toBe(404);
  });

  it('stores small files whole and large files in parts', async () => {
    const { storage } = client();
    const small = await storage.upload(new Blob(['picture'], { type: 'image/png' }), {
      lifecycle: { expiresIn: '1d' },
    });
    expect(await (await fetch(small)).text()).toBe('picture');
    const bytes = Buffer.alloc(91 * 1024 * 1024, 5);
    const large = await storage.upload(new Blob([bytes], { type: 'video/mp4' }));
    expect((await (await fetch(large)).arrayBuffer()).byteLength).toBe(bytes.length);
    expect(stub.storage.files).toMatchObject([
      { contentType: 'image/png', parts: 1, lifecycle: '{"expiration_duration_seconds":86400}' },
      { contentType: 'video/mp4', parts: 10 },
    ]);
  });

  it('signs ids, time and body of its callbacks with a published key', async () => {
    stub.signingKeys = [newSigningKey('old'), newSigningKey('new')];
    await client().queue.submit(VIDEO, { input: INPUT, webhookUrl: 'https://shop.example/calls?job=1' });
    const [order] = stub.orders;
    if (!order) throw new Error('no order');
    expect(order.webhook).toBe('https://shop.example/calls?job=1');
    const { headers, body } = stub.callOf(order);
    expect(JSON.parse(body.toString())).toMatchObject({ status: 'OK', request_id: order.requestId });
    const keys = await (await fetch(`${stub.baseUrl}/.well-known/jwks.json`)).json();
    expect(keys).toEqual({ keys: stub.signingKeys.map(toJwk) });
    const names = ['request-id', 'user-id', 'timestamp'].map((name) => headers[`x-fal-webhook-${name}`]);
    const digest = createHash('sha256').update(body).digest('hex');
    const message = Buffer.from([...names, digest].join('\n'));
    const signature = Buffer.from(headers['x-fal-webhook-signature'] ?? '', 'hex');
    const signedBy = (keys as { keys: { x: string }[] }).keys.map(({ x }) =>
      verify(null, message, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }), signature),
    );
    expect(signedBy).toEqual([true, false]);
    const failed = { ...order, input: {} };
    expect(JSON.parse(stub.callOf(failed).body.toString())).toMatchObject({ status: 'ERROR' });
  });
});
