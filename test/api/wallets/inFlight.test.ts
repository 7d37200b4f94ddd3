/** Limit of five calls in flight per wallet over all processes. */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { json, stream } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { newWallet, type TestWallet, welcomeWallets } from './walletWorld.ts';

/** The calls wait for this gate. */
let gate: { open: () => void; opened: Promise<void> };
let waiting = 0;

const waitRoute = defineRoute({
  method: 'POST',
  path: '/test/wait',
  access: 'caller',
  async handler(_dependencies, { signal }) {
    waiting += 1;
    await Promise.race([gate.opened, once(signal, 'abort')]);
    return json({});
  },
});

const streamRoute = defineRoute({
  method: 'POST',
  path: '/test/stream',
  access: 'caller',
  async handler() {
    waiting += 1;
    async function* pieces() {
      yield 'first';
      await gate.opened;
      yield 'last';
    }
    return stream({ stream: Readable.from(pieces()), contentType: 'text/plain' });
  },
});

let apis: TestApi[];
beforeAll(async () => {
  const routes = [waitRoute, streamRoute];
  const first = await startApi({ routes });
  apis = [first, await startApi({ routes, environment: first.environment })];
  for (const api of apis) welcomeWallets(api);
});
afterAll(async () => {
  for (const api of apis) await api.stop();
});
beforeEach(() => {
  waiting = 0;
  let open: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  gate = { open: () => open?.(), opened };
});

async function call(turn: number, path: string, wallet: TestWallet): Promise<Response> {
  const headers = { 'sign-in-with-x': await wallet.header() };
  const api = apis[turn % apis.length] as TestApi;
  return await api.call(path, { method: 'POST', headers });
}

it.each(['/test/wait', '/test/stream'])('refuses a sixth call beside five of %s in every process', async (path) => {
  const [wallet, other] = [await newWallet(apis[0] as TestApi), await newWallet(apis[0] as TestApi)];
  const calls = Array.from({ length: 5 }, (_, turn) => call(turn, path, wallet));
  await expect.poll(() => waiting).toBe(5);
  for (const turn of [0, 1]) {
    const refused = await call(turn, path, wallet);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toEqual({
      error: 'Too many concurrent requests',
      code: 'X402_CONCURRENCY_LIMIT',
    });
  }
  const others = call(0, path, other);
  await expect.poll(() => waiting).toBe(6);
  gate.open();
  for (const answered of [...calls, others]) {
    const response = await answered;
    expect(response.status).toBe(200);
    await response.text();
  }
  // The answered calls have ended: the next five are admitted, one after the other and all at once.
  await expect
    .poll(async () => (await Promise.all([0, 1, 2, 3, 4].map((turn) => call(turn, path, wallet)))).map((r) => r.status))
    .toEqual([200, 200, 200, 200, 200]);
});

it('admits a new call when a client disconnects', async () => {
  const wallet = await newWallet(apis[0] as TestApi);
  const leaving = new AbortController();
  const headers = async () => ({ 'sign-in-with-x': await wallet.header() });
  const calls = await Promise.all(
    Array.from({ length: 5 }, async () =>
      (apis[0] as TestApi).call('/test/wait', {
        method: 'POST',
        headers: await headers(),
        signal: leaving.signal,
      }),
    ).map((begun) => Promise.resolve({ begun: begun.catch(() => undefined) })),
  );
  await expect.poll(() => waiting).toBe(5);
  leaving.abort();
  for (const { begun } of calls) await begun;
  const again = call(1, '/test/stream', wallet);
  await expect.poll(() => waiting).toBe(6);
  gate.open();
  expect((await again).status).toBe(200);
});
