import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Callback, GenerationProvider } from '../../../providers/shared/provider.ts';
import { type FalStub, type StubOrder, startFalStub } from '../../stubs/fal/fal.ts';
import { newSigningKey, toJwk } from '../../stubs/fal/webhooks.ts';
import { type Caller, createCaller, music } from './callFal.ts';

let stub: FalStub;
let caller: Caller;
let provider: GenerationProvider;
let order: StubOrder;
beforeAll(async () => {
  caller = await createCaller(() => stub);
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startFalStub();
  provider = caller.provider();
  await provider.start(music(), await caller.context({ callbackUrl: 'https://shop.example/calls' }));
  const [first] = stub.orders;
  if (!first) throw new Error('nothing was ordered');
  order = first;
});
afterEach(async () => {
  vi.useRealTimers();
  await stub.close();
});

async function isGenuine(call: Callback): Promise<boolean> {
  if (!provider.isGenuine) throw new Error('the adapter believes nobody');
  return await provider.isGenuine(call, AbortSignal.timeout(5_000));
}

/** Advances the clock only; connections keep their timers. */
function laterBy(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
}

const now = () => Math.floor(Date.now() / 1_000);

function changed(call: Callback, headers: Record<string, string | undefined>, body = call.body): Callback {
  const entries = Object.entries({ ...call.headers, ...headers });
  const present = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { headers: Object.fromEntries(present), body };
}

describe('a callback at the end of an order', () => {
  it('is accepted when its signature is valid', async () => {
    expect(await isGenuine(stub.callOf(order))).toBe(true);
    stub.result = { status: 422, body: { detail: [] } };
    expect(await isGenuine(stub.callOf({ ...order, result: stub.result }))).toBe(true);
  });

  it('is accepted with any of the published keys', async () => {
    const second = newSigningKey('second');
    stub.signingKeys.push(second);
    expect(await isGenuine(stub.callOf(order, { key: second }))).toBe(true);
  });

  it.each<[string, (call: Callback) => Callback]>([
    ['with another body', (call) => changed(call, {}, Buffer.from('{"status":"OK"}'))],
    ['with a body that is a byte longer', (call) => changed(call, {}, Buffer.concat([call.body, Buffer.from(' ')]))],
    ['for another order', (call) => changed(call, { 'x-fal-webhook-request-id': 'other' })],
    ['of another account', (call) => changed(call, { 'x-fal-webhook-user-id': 'other' })],
    ['at another time', (call) => changed(call, { 'x-fal-webhook-timestamp': String(now() - 7) })],
    ['without a signature', (call) => changed(call, { 'x-fal-webhook-signature': undefined })],
    ['with half a signature', (call) => changed(call, { 'x-fal-webhook-signature': 'ab'.repeat(32) })],
    ['with zeros for a signature', (call) => changed(call, { 'x-fal-webhook-signature': '00'.repeat(64) })],
    ['with a signature that is no number', (call) => changed(call, { 'x-fal-webhook-signature': 'zz'.repeat(64) })],
    ['without an order', (call) => changed(call, { 'x-fal-webhook-request-id': undefined })],
    ['without an account', (call) => changed(call, { 'x-fal-webhook-user-id': undefined })],
    ['without a time', (call) => changed(call, { 'x-fal-webhook-timestamp': undefined })],
    ['at no time', (call) => changed(call, { 'x-fal-webhook-timestamp': 'now' })],
    ['with a line end in an id', (call) => changed(call, { 'x-fal-webhook-request-id': 'a\nb' })],
    ['without anything', (call) => ({ headers: {}, body: call.body })],
  ])('sent %s is rejected as forged', async (_how, forge) => {
    expect(await isGenuine(forge(stub.callOf(order)))).toBe(false);
  });

  it('signed by an unpublished key is rejected as forged', async () => {
    expect(await isGenuine(stub.callOf(order, { key: newSigningKey('somebody') }))).toBe(false);
  });

  it.each([
    [-310, false],
    [-290, true],
    [290, true],
    [310, false],
  ])('sent %d seconds from our time is accepted: %s', async (seconds, believed) => {
    expect(await isGenuine(stub.callOf(order, { timestamp: now() + seconds }))).toBe(believed);
  });

  it('is accepted once', async () => {
    const call = stub.callOf(order);
    expect([await isGenuine(call), await isGenuine(call)]).toEqual([true, false]);
    const upper = changed(call, {
      'x-fal-webhook-signature': call.headers['x-fal-webhook-signature']?.toUpperCase(),
    });
    expect(await isGenuine(upper)).toBe(false);
    const twice = stub.callOf(order, { timestamp: now() - 1 });
    const both = await Promise.all([isGenuine(twice), isGenuine(twice)]);
    expect(both.sort()).toEqual([false, true]);
  });
});

describe('the published keys', () => {
  it('are fetched once, without the credential, for any number of callbacks', async () => {
    const calls = Array.from({ length: 8 }, (_, index) => stub.callOf(order, { timestamp: now() - index }));
    expect(await Promise.all(calls.map(isGenuine))).toEqual(calls.map(() => true));
    expect(stub.keyRequests).toBe(1);
    expect(stub.calls.at(-1)).toMatchObject({ path: '/.well-known/jwks.json', authorization: undefined });
  });

  it('are not fetched for a callback that cannot be genuine', async () => {
    await isGenuine({ headers: {}, body: Buffer.alloc(0) });
    await isGenuine(stub.callOf(order, { timestamp: now() - 9_999 }));
    expect(stub.keyRequests).toBe(0);
  });

  it('are fetched again for an unknown signature, at most once a minute', async () => {
    expect(await isGenuine(stub.callOf(order))).toBe(true);
    const fresh = newSigningKey('fresh');
    stub.signingKeys = [fresh];
    for (let times = 0; times < 3; times += 1) {
      expect(await isGenuine(stub.callOf(order, { key: fresh, timestamp: now() + times }))).toBe(false);
    }
    expect(stub.keyRequests).toBe(1);
    laterBy(61_000);
    expect(await isGenuine(stub.callOf(order, { key: fresh }))).toBe(true);
    expect(stub.keyRequests).toBe(2);
  });

  it('are rejected within an hour after they were withdrawn', async () => {
    expect(await isGenuine(stub.callOf(order))).toBe(true);
    const [old] = stub.signingKeys;
    stub.signingKeys = [newSigningKey('new')];
    laterBy(3_601_000);
    expect(await isGenuine(stub.callOf(order, { ...(old && { key: old }) }))).toBe(false);
  });

  it('are kept for at most a day while they cannot be fetched', async () => {
    expect(await isGenuine(stub.callOf(order))).toBe(true);
    stub.faults.keys = Array.from({ length: 4 }, () => ({ kind: 'reply', status: 503 }) as const);
    laterBy(2 * 3_600_000);
    expect(await isGenuine(stub.callOf(order))).toBe(true);
    laterBy(23 * 3_600_000);
    expect(await isGenuine(stub.callOf(order))).toBe(false);
  });

  it.each([
    ['a page', '<html>'],
    ['nothing', {}],
    ['a list', []],
    ['what are no keys', { keys: [null, 7, { kty: 'RSA' }, { kty: 'OKP', crv: 'Ed25519', x: '!' }] }],
    ['a megabyte', { keys: ['x'.repeat(1_000_000)] }],
  ])('accept no callback when they are %s', async (_what, body) => {
    stub.faults.keys = [{ kind: 'reply', status: 200, body }];
    expect(await isGenuine(stub.callOf(order))).toBe(false);
  });

  it('are used without the invalid ones among them', async () => {
    const keys = [{ kty: 'EC' }, ...stub.signingKeys.map(toJwk)];
    stub.faults.keys = [{ kind: 'reply', status: 200, body: { keys } }];
    expect(await isGenuine(stub.callOf(order))).toBe(true);
  });
});
