import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BodyTooLarge } from '../../../infra/http/saveBody.ts';
import { unpaused } from '../../../infra/http/unpaused.ts';

const SIZES = [64 * 1024 - 300, 64 * 1024, 65_536 * 2, 1_000_000];

let server: Server;

/** Answers each path `/<size>` with that many bytes and the end of the connection, all at once. */
beforeAll(async () => {
  server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (request) => {
      const size = Number(/GET \/(\d+)/.exec(request.toString())?.[1]);
      const head = `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`;
      socket.end(Buffer.concat([Buffer.from(head), Buffer.alloc(size, 'a')]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => server.close());

function get(size: number, maxBytes: number) {
  const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { pipelining: 0 });
  return client.compose(unpaused(maxBytes)).request({ method: 'GET', path: `/${size}` });
}

it('keeps the body when the server closes the connection before it is read', async () => {
  for (const size of SIZES) {
    const { body } = await get(size, 2_000_000);
    await sleep(50);
    expect((await body.arrayBuffer()).byteLength).toBe(size);
  }
});

it('survives the end of a body that nobody reads', async () => {
  for (const size of SIZES) {
    const { body } = await get(size, 2_000_000);
    await sleep(50);
    body.destroy();
    body.on('error', () => undefined);
  }
});

it('drops what exceeds the limit', async () => {
  const { body } = await get(1_000_000, 100_000);
  await expect(body.arrayBuffer()).rejects.toBeInstanceOf(BodyTooLarge);
});
