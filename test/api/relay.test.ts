/** Deliveries from the store to a client: complete, in bounded memory, and never silently shorter or longer. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { relay, waitForFirstBytes } from '../../api/server/relay.ts';

const PIECE = randomBytes(64 * 1024);
const MEGABYTE = 1024 * 1024;
/** Maximum bytes in the kernel buffers of both ends of a connection. */
const IN_SOCKETS_BYTES = 16 * MEGABYTE;

let server: http.Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Source {
  stream: Readable;
  readBytes(): number;
}

function sourceOf(sizeBytes: number): Source {
  let made = 0;
  const stream = new Readable({
    read() {
      const piece = PIECE.subarray(0, Math.min(PIECE.length, sizeBytes - made));
      made += piece.length;
      this.push(piece.length === 0 ? null : piece);
    },
  });
  return { stream, readBytes: () => made };
}

/** Answers one request from the source. `ended` settles with the outcome. */
async function serve(stream: Readable, announced: number) {
  let tell: (end: Promise<void>) => void = () => undefined;
  const ended = new Promise<Promise<void>>((resolve) => {
    tell = resolve;
  });
  server = http.createServer((_request, res: ServerResponse) => {
    const end = waitForFirstBytes(stream).then(() => {
      res.setHeader('content-length', announced);
      return relay(stream, res, announced);
    });
    end.catch(() => undefined);
    tell(end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = http.get({ port: (server.address() as AddressInfo).port, agent: false });
  request.on('error', () => undefined);
  return { request, ended: ended.then((end) => end) };
}

async function answerOf(request: http.ClientRequest): Promise<http.IncomingMessage> {
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  return answer;
}

async function digestOf(stream: Readable): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of stream) {
    hash.update(piece as Buffer);
    bytes += (piece as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

describe('a delivery', () => {
  it.each([1, 65_536, 1_000_003, 50 * MEGABYTE])('of %i bytes arrives complete', async (size) => {
    const { request, ended } = await serve(sourceOf(size).stream, size);
    const got = await digestOf(await answerOf(request));
    await ended;
    expect(got).toEqual(await digestOf(sourceOf(size).stream));
  });

  it('to a client that stops reading is read at most a megabyte ahead, and continues with the client', async () => {
    const size = 100 * MEGABYTE;
    const source = sourceOf(size);
    const { request, ended } = await serve(source.stream, size);
    const answer = await answerOf(request);
    answer.pause();
    let before = -1;
    while (source.readBytes() !== before) {
      before = source.readBytes();
      await sleep(200);
    }
    expect(source.readBytes()).toBeLessThan(IN_SOCKETS_BYTES + 2 * MEGABYTE);
    expect((await digestOf(answer)).bytes).toBe(size);
    await ended;
  });

  it.each([
    ['fewer', 3 * MEGABYTE, 4 * MEGABYTE],
    ['more', 4 * MEGABYTE, 3 * MEGABYTE],
  ])('of %s bytes than announced breaks the connection', async (_what, size, announced) => {
    const { request, ended } = await serve(sourceOf(size).stream, announced);
    const answer = await answerOf(request);
    await expect(ended).rejects.toThrow('announced');
    await expect(digestOf(answer)).rejects.toThrow('aborted');
  });

  it('whose source breaks also breaks its connection', async () => {
    const source = sourceOf(50 * MEGABYTE);
    const { request, ended } = await serve(source.stream, 50 * MEGABYTE);
    const answer = await answerOf(request);
    source.stream.destroy(new Error('the store is gone'));
    await expect(ended).rejects.toThrow('the store is gone');
    await expect(digestOf(answer)).rejects.toThrow('aborted');
  });

  it('destroys its source when the client disconnects', async () => {
    const source = sourceOf(100 * MEGABYTE);
    const { request, ended } = await serve(source.stream, 100 * MEGABYTE);
    (await answerOf(request)).destroy();
    await expect(ended).rejects.toThrow('the client is gone');
    expect(source.stream.destroyed).toBe(true);
  });

  it('whose source breaks between its opening and its first byte fails with that error', async () => {
    const { stream } = sourceOf(MEGABYTE);
    await waitForFirstBytes(stream);
    stream.destroy(new Error('the store is gone'));
    await sleep(10);
    const res = new http.ServerResponse(new http.IncomingMessage(new Socket()));
    await expect(relay(stream, res, MEGABYTE)).rejects.toThrow('the store is gone');
    expect(res.destroyed).toBe(true);
  });

  it('from a source that breaks before its first byte does not begin', async () => {
    const stream = new Readable({ read() {} });
    setImmediate(() => stream.destroy(new Error('no such object')));
    await expect(waitForFirstBytes(stream)).rejects.toThrow('no such object');
    const left = new Readable({ read() {} });
    setImmediate(() => left.destroy());
    await expect(waitForFirstBytes(left)).rejects.toThrow('left');
  });
});
