/** Reused buffers of large reads: a reader that keeps a chunk never sees another body's bytes in it. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { relay, waitForFirstBytes } from '../../../api/server/relay.ts';
import { returnPiece } from '../../../infra/http/largeReads.ts';
import { createReadingHandler, type ReadingHandler } from '../../../infra/http/objectReader.ts';

const MEGABYTE = 1024 * 1024;
const BODIES = [3 * MEGABYTE + 1, 8 * MEGABYTE, 700_001, 5].map((size) => randomBytes(size));

let store: http.Server;
let door: http.Server;
let reader: ReadingHandler;

beforeEach(async () => {
  store = http.createServer((request, response) => response.end(BODIES[Number(request.url?.slice(1))]));
  // One connection, so that successive bodies share a buffer.
  reader = createReadingHandler({ connectMs: 60_000, silenceMs: 60_000, mostConnections: 1 });
  door = http.createServer(async (request, response) => {
    const body = await read(Number(request.url?.slice(1)));
    await waitForFirstBytes(body);
    const size = BODIES[Number(request.url?.slice(1))]?.length ?? 0;
    response.setHeader('content-length', size);
    await relay(body, response, size).catch(() => undefined);
  });
  for (const server of [store, door]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});

afterEach(() => {
  reader.destroy();
  for (const server of [store, door]) {
    server.closeAllConnections();
    server.close();
  }
});

function portOf(server: http.Server): number {
  return (server.address() as AddressInfo).port;
}

async function read(index: number): Promise<Readable> {
  const address = { protocol: 'http:', hostname: '127.0.0.1', port: portOf(store), path: `/${index}` };
  return (await reader.handle({ method: 'GET', headers: {}, ...address })).response.body;
}

async function fetchedHash(index: number, pauseMs: number): Promise<string> {
  const request = http.get({ port: portOf(door), path: `/${index}`, agent: false });
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const hash = createHash('sha256');
  for await (const piece of answer) {
    hash.update(piece as Buffer);
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return hash.digest('hex');
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describe('relayed bodies', () => {
  it('reach slow and fast clients unchanged, in sequence and in parallel', async () => {
    const asked = Array.from({ length: 24 }, (_, turn) => ({
      index: turn % BODIES.length,
      slow: turn % 5 === 0,
    }));
    const hashes = await Promise.all(asked.map(({ index, slow }) => fetchedHash(index, slow ? 2 : 0)));
    expect(hashes).toEqual(asked.map(({ index }) => hashOf(BODIES[index] ?? Buffer.alloc(0))));
  });

  it('do not overwrite the chunks that a reader keeps', async () => {
    const pieces: Buffer[] = [];
    for await (const piece of await read(1)) pieces.push(piece as Buffer);
    await Promise.all([0, 1, 2, 3].map((index) => fetchedHash(index, 0)));
    expect(hashOf(Buffer.concat(pieces))).toBe(hashOf(BODIES[1] ?? Buffer.alloc(0)));
  });

  it('use only those buffers again that were returned', async () => {
    const memories = new Set<ArrayBufferLike>();
    const kept: Buffer[] = [];
    for await (const piece of await read(1)) {
      memories.add((piece as Buffer).buffer);
      returnPiece(piece as Buffer);
    }
    for await (const piece of await read(1)) kept.push(piece as Buffer);
    const own = new Set(kept.map(({ buffer }) => buffer));
    expect([...own].some((memory) => memories.has(memory))).toBe(true);
    expect(hashOf(Buffer.concat(kept))).toBe(hashOf(BODIES[1] ?? Buffer.alloc(0)));
  });
});
