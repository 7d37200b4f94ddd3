/** Server-sent events on the wire. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EventAnswer, events, type TakeText } from '../../../api/http/answer.ts';
import type { ApiContext } from '../../../api/http/requestState.ts';
import { sendEvents } from '../../../api/http/sendEvents.ts';
import { sendRaw } from '../sendRaw.ts';

const IDLE_MS = 2_000;
const TEXTS = ['data: a\n\n', 'data: naïve – 日本 🚕\n\n', `data: ${'x'.repeat(70_000)}\n\n`];

/** Writes the answer to the next request. */
let tell: EventAnswer['tell'];
let server: http.Server;
let port: number;

beforeAll(async () => {
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx) => {
    ctx.state = { log: { info: () => undefined }, route: 'test' };
    ctx.res.statusCode = 200;
    await sendEvents(ctx as unknown as ApiContext, events(tell), IDLE_MS);
  });
  server = http.createServer(app.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function tellAll(take: TakeText): Promise<void> {
  for (const text of TEXTS) expect(await take(text)).toBe(true);
}

function open(agent: http.Agent | false): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', agent }, resolve).once('error', reject);
  });
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return text;
}

describe('a stream of events', () => {
  it('arrives unchanged, and leaves its connection usable for the next request', async () => {
    tell = tellAll;
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (let request = 0; request < 3; request += 1) {
      const response = await open(agent);
      ports.add(response.socket.localPort);
      expect(response.headers['transfer-encoding']).toBe('chunked');
      expect(await textOf(response)).toBe(TEXTS.join(''));
      expect(response.complete).toBe(true);
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });

  it('may have empty texts, and be empty', async () => {
    tell = async (take) => {
      for (const text of ['', 'data: a\n\n', '']) await take(text);
    };
    expect(await textOf(await open(false))).toBe('data: a\n\n');
    tell = async () => undefined;
    const response = await open(false);
    expect([await textOf(response), response.complete]).toEqual(['', true]);
  });

  it('has no chunks for a client of HTTP/1.0', async () => {
    tell = async (take) => {
      await take('data: a\n\n');
      await take('data: b\n\n');
    };
    const answer = await sendRaw(port, 'GET / HTTP/1.0\r\nHost: test\r\n\r\n');
    expect(answer.split('\r\n\r\n')[1]).toBe('data: a\n\ndata: b\n\n');
  });

  it('that fails midway is cut off, so that it does not look complete', async () => {
    tell = async (take) => {
      await take('data: a\n\n');
      throw new Error('the source is gone');
    };
    await expect(open(false).then(textOf)).rejects.toThrow();
  });
});

describe('the sender of events', () => {
  /** Sends events without end. Resolves with the number that was taken when the client is gone. */
  function endless(text: string): Promise<number> {
    return new Promise((resolve) => {
      tell = async (take) => {
        let taken = 0;
        while (await take(text)) {
          taken += 1;
          await new Promise(setImmediate);
        }
        expect(await take(text)).toBe(false);
        resolve(taken);
      };
    });
  }

  it('learns that the client is gone', async () => {
    const told = endless('data: a\n\n');
    const response = await open(false);
    await once(response, 'data');
    response.on('error', () => undefined).destroy();
    expect(await told).toBeGreaterThan(0);
  });

  it('learns that a slow client is gone', async () => {
    const told = endless(`data: ${'x'.repeat(1_000_000)}\n\n`);
    const response = await open(false);
    setTimeout(() => response.on('error', () => undefined).destroy(), IDLE_MS / 2);
    expect(await told).toBeLessThan(100);
  });

  it('disconnects a client that reads nothing for the idle time, and waits for a slow one', async () => {
    const told = endless(`data: ${'x'.repeat(200_000)}\n\n`);
    const response = await open(false);
    const startedAt = performance.now();
    response.on('error', () => undefined);
    response.on('data', () => {
      response.pause();
      setTimeout(() => performance.now() - startedAt < 2.5 * IDLE_MS && response.resume(), 5);
    });
    expect(await told).toBeGreaterThan(0);
    expect(performance.now() - startedAt).toBeGreaterThan(2.5 * IDLE_MS);
    const closed = new Promise((resolve) => response.once('close', resolve));
    response.removeAllListeners('data').resume();
    await closed;
    expect(response.complete).toBe(false);
  });
});
