import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { GenerationProvider } from '../../../providers/shared/provider.ts';
import { type ReplicateStub, startReplicateStub } from '../../stubs/replicate/replicate.ts';
import { type SignedCall, type Signing, signedCall } from '../../stubs/replicate/webhooks.ts';
import { type Caller, createCaller } from './callReplicate.ts';

let stub: ReplicateStub;
let caller: Caller;
let provider: GenerationProvider;
beforeAll(async () => {
  caller = await createCaller(() => stub);
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startReplicateStub();
  provider = caller.provider();
});
afterEach(async () => {
  vi.useRealTimers();
  await stub.close();
});

const OTHER_SECRET = `whsec_${Buffer.from('the secret of another account').toString('base64')}`;
const NOW = Date.UTC(2025, 10, 20);

const isGenuine = (call: SignedCall) => provider.isGenuine?.(call, AbortSignal.timeout(10_000));
const call = (signing: Signing = {}) => signedCall({ id: 'p1', status: 'succeeded' }, signing);
const asked = () => stub.requests.filter((what) => what.includes('/webhooks/')).length;

function at(ms: number): void {
  vi.useFakeTimers({ now: ms, toFake: ['Date'] });
}

function withHeaders(signed: SignedCall, headers: Record<string, string>): SignedCall {
  return { ...signed, headers: { ...signed.headers, ...headers } };
}

describe('a callback', () => {
  it("is accepted once with the account's signature", async () => {
    const genuine = call();
    expect(await isGenuine(genuine)).toBe(true);
    expect(await isGenuine(genuine)).toBe(false);
    expect(await isGenuine(call())).toBe(true);
    expect(asked()).toBe(1);
  });

  it.each<[string, () => SignedCall]>([
    ['another secret signed', () => call({ secret: OTHER_SECRET })],
    ['somebody changed', () => ({ ...call(), body: Buffer.from('{"id":"p2"}') })],
    ['carries the id of another', () => withHeaders(call(), { 'webhook-id': 'msg_other' })],
    ['carries another time', () => withHeaders(call(), { 'webhook-timestamp': String(Math.floor(NOW / 1_000) - 1) })],
    ['was signed six minutes ago', () => call({ atMs: NOW - 6 * 60_000 })],
    ['will be signed in six minutes', () => call({ atMs: NOW + 6 * 60_000 })],
    ['carries no signature', () => withHeaders(call(), { 'webhook-signature': '' })],
    ['carries a signature of another kind', () => withHeaders(call(), { 'webhook-signature': 'v2,AAAA' })],
    ['carries a signature that is cut', () => withHeaders(call(), { 'webhook-signature': 'v1,AAAA' })],
    ['carries no time', () => withHeaders(call(), { 'webhook-timestamp': 'soon' })],
    ['carries no id', () => withHeaders(call(), { 'webhook-id': '' })],
    ['carries no headers', () => ({ ...call(), headers: {} })],
  ])('that %s is rejected', async (_, forged) => {
    at(NOW);
    expect(await isGenuine(forged())).toBe(false);
  });

  it('is accepted with any of several signatures', async () => {
    const genuine = call();
    const signature = `v1,AAAA v2,BBBB ${genuine.headers['webhook-signature']}`;
    expect(await isGenuine(withHeaders(genuine, { 'webhook-signature': signature }))).toBe(true);
  });

  it('is accepted with a replaced secret after at most a minute, and forged ones cost one read a minute', async () => {
    at(NOW);
    expect(await isGenuine(call())).toBe(true);
    stub.webhookSecret = OTHER_SECRET;
    expect(await isGenuine(call({ secret: OTHER_SECRET }))).toBe(false);
    at(NOW + 61_000);
    expect(await isGenuine(call({ secret: OTHER_SECRET }))).toBe(true);
    for (let forged = 0; forged < 20; forged += 1) {
      expect(await isGenuine(call({ secret: 'whsec_Zm9yZ2VkIGZvcmdlZA==' }))).toBe(false);
    }
    expect(asked()).toBe(2);
  });

  it('is rejected while the secret cannot be read, and concurrent callbacks share one read', async () => {
    at(NOW);
    stub.faults.push({ at: 'GET /v1/webhooks', fault: { kind: 'reply', status: 500, body: {} } });
    expect(await Promise.all([isGenuine(call()), isGenuine(call())])).toEqual([false, false]);
    expect(asked()).toBe(1);
    at(NOW + 61_000);
    expect(await Promise.all([isGenuine(call()), isGenuine(call())])).toEqual([true, true]);
    expect(asked()).toBe(2);
  });

  it('is verified with a secret that is read again every hour', async () => {
    at(NOW);
    expect(await isGenuine(call())).toBe(true);
    at(NOW + 61 * 60_000);
    expect(await isGenuine(call())).toBe(true);
    expect(asked()).toBe(2);
  });
});
