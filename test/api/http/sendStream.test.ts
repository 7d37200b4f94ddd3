/** Answers whose length is unknown until their end. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stream } from '../../../api/http/answer.ts';
import type { ApiContext } from '../../../api/http/requestState.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { sendStream } from '../../../api/http/sendStream.ts';
import { startApi, type TestApi } from '../startApi.ts';

let ended = 0;

/** Sends `good` chunks, then fails or ends. */
const chunks = defineRoute({
  method: 'GET',
  path: '/test/chunks/{good}/{then}',
  access: 'open',
  async handler(_dependencies, { params }) {
    async function* pieces() {
      try {
        for (let piece = 0; piece < Number(params.good); piece += 1) yield 'x'.repeat(1_000);
        if (params.then === 'fails') throw new Error('the source is gone');
      } finally {
        ended += 1;
      }
    }
    return stream({ stream: Readable.from(pieces()), contentType: 'text/csv' });
  },
});

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ routes: [chunks] });
});
afterAll(() => api.stop());

describe('a stream', () => {
  it.each([1, 50])('of %i chunks is complete', async (good) => {
    const response = await api.call(`/test/chunks/${good}/ends`);
    expect([response.status, response.headers.get('content-type'), response.headers.get('content-length')]).toEqual([
      200,
      'text/csv',
      null,
    ]);
    expect((await response.text()).length).toBe(good * 1_000);
  });

  it('without content is complete', async () => {
    const response = await api.call('/test/chunks/0/ends');
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('whose source fails before its first byte gives an error in the documented shape', async () => {
    const response = await api.call('/test/chunks/0/fails');
    expect([response.status, await response.json()]).toEqual([503, { error: expect.any(String) }]);
  });

  it('whose source fails later is cut off, so that it does not look complete', async () => {
    const response = await api.call('/test/chunks/5/fails');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('sends no body to HEAD and reads its source no further', async () => {
    const before = ended;
    const response = await api.call('/test/chunks/50/ends', { method: 'HEAD' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv']);
    expect(ended - before).toBeLessThanOrEqual(1);
  });
});

describe('a client that stops reading', () => {
  it('is disconnected after the idle time, and a slow one is not', async () => {
    const idleMs = 2_000;
    const brokenBy: string[] = [];
    let asked = 0;
    async function* endless() {
      for (;;) {
        asked += 1;
        yield Buffer.alloc(1_000_000);
      }
    }
    const app = new Koa();
    app.silent = true;
    app.use(async (ctx) => {
      ctx.state = { log: { info: () => undefined }, route: 'test' };
      const answer = stream({
        ...{ stream: Readable.from(endless()), contentType: 'text/csv' },
        onAborted: async (by) => void brokenBy.push(by),
      });
      await sendStream(ctx as unknown as ApiContext, answer, idleMs);
    });
    const server = http.createServer(app.callback());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const open = () =>
        new Promise<http.IncomingMessage>((resolve) => {
          http.get({ port, host: '127.0.0.1', agent: false }, resolve);
        });
      const slow = await open();
      const seen = { bytes: 0, closed: false };
      let reading = true;
      slow
        .on('error', () => undefined)
        .once('close', () => {
          seen.closed = true;
        });
      slow.on('data', (bytes: Buffer) => {
        seen.bytes += bytes.length;
        slow.pause();
        setTimeout(() => reading && slow.resume(), 5);
      });
      await sleep(2.5 * idleMs);
      expect(seen.closed).toBe(false);
      expect(seen.bytes).toBeGreaterThan(1_000_000);
      reading = false;
      slow.pause();
      await expect.poll(() => brokenBy).toEqual(['client']);
      const atRest = asked;
      await sleep(200);
      expect(asked).toBe(atRest);
      slow.removeAllListeners('data').resume();
      while (!seen.closed) await sleep(20);
      expect(slow.complete).toBe(false);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
