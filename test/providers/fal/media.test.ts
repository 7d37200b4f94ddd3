import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FalStub, startFalStub } from '../../stubs/fal/fal.ts';
import type { FalFault, FalStage } from '../../stubs/fal/faults.ts';
import { type Caller, createCaller, video } from './callFal.ts';

let stub: FalStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller(() => stub);
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startFalStub();
});
afterEach(() => stub.close());

const UPSCALE = 'fal-ai/topaz/upscale/video';
const MEGABYTE = 1024 * 1024;

async function upscale(bytes: Buffer) {
  const media = [await caller.medium('video', bytes)];
  const request = { ...video({ media, upstreamModel: UPSCALE, upscale: { factor: 2 } }) };
  return await caller.provider().start(request, await caller.context());
}

const reply = (status: number, body?: unknown, headers: Record<string, string> = {}): FalFault => ({
  kind: 'reply',
  status,
  body,
  headers,
});

describe('the media of an order', () => {
  it('are uploaded for one day, and the model receives their URLs', async () => {
    expect((await upscale(Buffer.from('the very bytes'))).status).toBe('running');
    expect(stub.storage.files).toEqual([
      {
        name: 'video-0.mp4',
        contentType: 'video/mp4',
        lifecycle: '{"expiration_duration_seconds":86400}',
        parts: 1,
        bytes: Buffer.from('the very bytes'),
      },
    ]);
    expect(stub.orders[0]?.input.video_url).toBe(`${stub.baseUrl}/stored/video-0.mp4`);
  });

  it('are sent without the credential to the URL that the storage names', async () => {
    await upscale(Buffer.from('x'));
    const put = stub.calls.find(({ method }) => method === 'PUT');
    expect(put).toMatchObject({ path: '/put/1', authorization: undefined });
  });

  it('are uploaded in parts when they are large, and arrive unchanged', async () => {
    const bytes = Buffer.alloc(91 * MEGABYTE, 'farebox');
    expect((await upscale(bytes)).status).toBe('running');
    const [file] = stub.storage.files;
    expect(file?.parts).toBe(10);
    expect(file?.bytes.equals(bytes)).toBe(true);
  });

  it('keep the order of the request', async () => {
    const media = await Promise.all([
      caller.medium('reference_image', Buffer.from('b'), { index: 1 }),
      caller.medium('reference_image', Buffer.from('a'), { index: 0 }),
    ]);
    const upstreamModel = 'fal-ai/kling-video/o3/pro/reference-to-video';
    await caller.provider().start(video({ media, upstreamModel }), await caller.context());
    const names = ['reference_image-0.png', 'reference_image-1.png'];
    expect(stub.orders[0]?.input.image_urls).toEqual(names.map((name) => `${stub.baseUrl}/stored/${name}`));
  });

  const overloaded = { status: 'busy', reason: 'overloaded' };
  const failed = { status: 'refused', reason: 'failed' };
  const rows: [what: string, stage: FalStage, fault: FalFault, wanted: object][] = [
    ['no leave', 'initiate', reply(401, { detail: 'no' }), { status: 'refused', reason: 'credential' }],
    ['a limit', 'initiate', reply(429, {}, { 'retry-after': '4' }), { status: 'busy', retryAfterMs: 4_000 }],
    ['a failing storage', 'initiate', reply(500, { detail: 'oops' }), overloaded],
    ['a gateway’s page', 'initiate', reply(502, '<html>'), overloaded],
    ['no answer', 'initiate', { kind: 'destroy' }, overloaded],
    ['silence', 'initiate', { kind: 'hang' }, overloaded],
    ['wrong words', 'initiate', reply(422, { detail: 'file_name' }), failed],
    ['a page', 'initiate', reply(200, '<html>'), failed],
    ['no addresses', 'initiate', reply(200, { file_url: 'x', upload_url: 'y' }), failed],
    ['a place that is gone', 'put', reply(404, {}), failed],
    ['a place without room', 'put', reply(503, {}), overloaded],
    ['a place that hangs up', 'put', { kind: 'destroy' }, overloaded],
  ];
  it.each(rows)('are not ordered after %s, and the failure is typed', async (_what, stage, fault, wanted) => {
    stub.faults[stage] = [fault];
    expect(await upscale(Buffer.from('x'))).toMatchObject(wanted);
    expect(stub.orders).toEqual([]);
  });

  it('are not ordered after a part without an ETag or a failed completion', async () => {
    const bytes = Buffer.alloc(91 * MEGABYTE);
    stub.faults.put = [reply(200, { partNumber: 1 })];
    expect(await upscale(bytes)).toMatchObject(failed);
    stub.faults.complete = [reply(503, {})];
    expect(await upscale(bytes)).toMatchObject(overloaded);
    expect(stub.orders).toEqual([]);
  });

  it.each([
    ['on this machine', 'http://127.0.0.1:1/put'],
    ['over an open wire', 'http://storage.example/put'],
    ['on another port', 'https://storage.example:8443/put'],
    ['with a password', 'https://user:secret@storage.example/put'],
    ['on a private network', 'https://10.0.0.8/put'],
  ])('are never sent to a URL %s', async (_where, uploadUrl) => {
    stub.storage.uploadUrl = uploadUrl;
    expect(await upscale(Buffer.from('x'))).toMatchObject(failed);
    expect(stub.orders).toEqual([]);
  });
});
