import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import type { ServiceAccess } from '../../../providers/shared/serviceAddresses.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { silentMp3, testWav } from '../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../stubs/elevenlabsFaults.ts';
import { LONG_TIMEOUTS } from '../../stubs/timeouts.ts';
import { type Call, type Caller, createCaller } from './callElevenLabs.ts';

let stub: ElevenLabsStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller();
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startElevenLabsStub();
});
afterEach(() => stub.close());

const run = (call?: Call) => caller.run(stub, call);
const runWith = (behaviour: StubBehaviour, call?: Call) => caller.runWith(stub, behaviour, call);

describe('a server error', () => {
  const own = {
    detail: { status: 'something_went_wrong', message: 'You are not charged for this request.' },
  };
  it.each([500, 501, 502, 504])("%d in the service's error format is a known failure", async (status) => {
    expect(await runWith({ kind: 'reply', status, body: own })).toMatchObject({
      status: 'refused',
      reason: 'failed',
    });
  });

  it("503 in the service's error format is an overload", async () => {
    expect(await runWith({ kind: 'reply', status: 503, body: own })).toMatchObject({
      status: 'busy',
      reason: 'overloaded',
    });
  });

  it('500 with any body is a known failure', async () => {
    expect(await runWith({ kind: 'reply', status: 500, body: 'oops' })).toMatchObject({ reason: 'failed' });
  });

  it.each([502, 503, 504, 520, 522, 524])('%d from a gateway may hide an accepted order', async (status) => {
    expect(await runWith({ kind: 'reply', status, body: '<html>Bad gateway</html>' })).toMatchObject({
      status: 'unknown',
    });
  });
});

describe('a lost reply', () => {
  const lost: StubBehaviour[] = [
    { kind: 'destroy-at-once' },
    { kind: 'accept-then-destroy' },
    { kind: 'hang' },
    { kind: 'silent-mid-body' },
    { kind: 'cut-body' },
  ];
  it.each(lost)('$kind: unknown, accepted at most once, no file left on disk', async (behaviour) => {
    const outcome = await runWith(behaviour);
    expect(outcome).toMatchObject({ status: 'unknown', files: [] });
    expect(stub.accepted.length).toBeLessThanOrEqual(1);
  });

  it('means not accepted after a refused connection, an unknown name or a forbidden address', async () => {
    const [port] = await freePorts(1);
    const unreachable: Partial<ServiceAccess>[] = [
      { baseUrl: `http://127.0.0.1:${port}` },
      { baseUrl: 'http://nowhere.invalid' },
      { allowPrivateNetwork: false },
      { baseUrl: stub.baseUrl.replace('http:', 'https:') },
    ];
    for (const options of unreachable) {
      expect(await run({ options })).toMatchObject({ status: 'busy', reason: 'overloaded' });
    }
    expect(stub.accepted).toHaveLength(0);
  });

  it("ends at the caller's deadline when the body arrives byte by byte", async () => {
    const patience = new AbortController();
    const dripping = runWith({ kind: 'drip', everyMs: 20 }, { signal: patience.signal });
    await expect.poll(() => stub.accepted.length).toBe(1);
    setTimeout(() => patience.abort(new DOMException('late', 'TimeoutError')), 300);
    expect(await dripping).toMatchObject({ status: 'unknown', files: [] });
  });

  it('is unknown after an abort while the service works, and not accepted before anything was sent', async () => {
    const abort = new AbortController();
    stub.next.push({ kind: 'hang' });
    const running = run({ signal: abort.signal, options: { timeouts: LONG_TIMEOUTS } });
    await expect.poll(() => stub.accepted.length).toBe(1);
    abort.abort();
    expect((await running).status).toBe('unknown');
    expect(await run({ signal: AbortSignal.abort() })).toMatchObject({ status: 'busy' });
  });
});

describe('an answer that cannot be the output', () => {
  const unusable: [string, StubBehaviour][] = [
    ['an HTML page', { kind: 'ok', contentType: 'text/html', body: '<html>Hello</html>' }],
    ['JSON', { kind: 'ok', contentType: 'application/json', body: '{"detail":"ok"}' }],
    ['an HTML page that claims to be audio', { kind: 'ok', contentType: 'audio/mpeg', body: '<html></html>' }],
    ['audio that claims to be HTML', { kind: 'ok', contentType: 'text/html', body: silentMp3(1) }],
    ['no byte', { kind: 'ok', contentType: 'audio/mpeg', body: '' }],
    ['another kind of audio', { kind: 'ok', contentType: 'audio/wav', body: testWav(1) }],
    ['a picture', { kind: 'ok', contentType: 'audio/mpeg', body: Buffer.from('89504e470d0a1a0a', 'hex') }],
    ['no content', { kind: 'reply', status: 204 }],
  ];
  it.each(unusable)('treats %s as a failure of the service', async (_, behaviour) => {
    expect(await runWith(behaviour)).toMatchObject({ status: 'refused', reason: 'failed' });
  });

  it('aborts a body of a gigabyte after a few megabytes and leaves nothing on disk', async () => {
    const outcome = await runWith({ kind: 'gigabyte' });
    expect(outcome).toMatchObject({ status: 'refused', reason: 'failed', files: [] });
    expect(stub.written()).toBeLessThan(50_000_000);
  });

  it('keeps the key out of every message', async () => {
    const secret = 'xi-secret-key-0123456789';
    const behaviours: StubBehaviour[] = [{ kind: 'hang' }, { kind: 'reply', status: 401, body: { detail: 'no' } }];
    for (const behaviour of behaviours) {
      const outcome = await runWith(behaviour, { options: { apiKey: secret } });
      expect(JSON.stringify(outcome)).not.toContain(secret);
    }
  });
});
