/** Bodies in chunks of one byte on many connections: each turn of the event loop reads little of them. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { createBodyBudget } from '../../../api/body/bodyBuffer.ts';
import { BodyReader } from '../../../api/body/bodyReader.ts';
import { readRaw } from '../../../api/body/readBody.ts';
import { readMultipart } from '../../../api/body/readMultipart.ts';
import { drainRequestBody } from '../../../api/server/drainRequestBody.ts';
import { TurnGuard } from '../../../api/server/turnGuard.ts';

const CONNECTIONS = 20;
const LETTERS = 30_000;
/** Bytes of one socket read. */
const READ_BYTES = 65_536;
/** The first read, the read beyond the limit, and a read of a connection that its reader has just resumed. */
const MAX_READS_PER_TURN = 3;

const turnGuard = new TurnGuard();
// A turn ends with its second chunk, so the result does not depend on the machine's speed.
turnGuard.maxTurnMs = 0;
const bodyReader = new BodyReader(turnGuard);
const reservedBytes = createBodyBudget(1_000_000_000).open('test');
const FORM_START = '--B\r\nContent-Disposition: form-data; name="title"\r\n\r\n';
const form = {
  bodyReader,
  ...{ boundary: 'B', maxFileBytes: 1_000_000, reservedBytes, noteSpooled: () => undefined },
  createFolder: () => Promise.reject(new Error('nothing of this goes to disk')),
  files: { name: 'file', most: 1, maxTotalBytes: 1_000_000 },
};

type Read = (request: IncomingMessage) => Promise<unknown>;

const READERS: [string, Read, string][] = [
  [
    'a body that is taken by listening',
    (request) => readRaw(request, { bodyReader, maxBytes: 1e6, reservedBytes }),
    '',
  ],
  ['a body that is iterated over', (request) => readMultipart(request, form), FORM_START],
  [
    'a body that is thrown away',
    async (request) => {
      drainRequestBody(request, turnGuard);
      await once(request, 'end');
    },
    '',
  ],
];

it.each(READERS)('%s shares each turn with all others', async (_name, read, start) => {
  const sockets: Socket[] = [];
  let ended = 0;
  const server = createServer((request) => {
    const stop = () => {
      ended += 1;
    };
    read(request).then(stop, stop);
  });
  server.on('connection', (socket: Socket) => sockets.push(socket));
  turnGuard.guard(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const sender = new Sender(port, start);
  await expect.poll(() => sockets.length).toBe(CONNECTIONS);
  sender.sendAll();
  let largest = 0;
  const totalBytes = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  while (ended < CONNECTIONS) {
    const before = totalBytes();
    await nextTurn();
    largest = Math.max(largest, totalBytes() - before);
  }
  expect(totalBytes()).toBeGreaterThan(CONNECTIONS * READ_BYTES);
  expect(largest).toBeLessThanOrEqual(MAX_READS_PER_TURN * READ_BYTES);
  await sender.stop();
  server.close();
});

const SENDER = `const { parentPort, workerData } = require('node:worker_threads');
const { connect } = require('node:net');
const sockets = Array.from({ length: workerData.connections }, () => connect(workerData.port, '127.0.0.1'));
for (const socket of sockets) socket.on('error', () => undefined);
parentPort.once('message', () => {
  for (const socket of sockets) {
    socket.write(workerData.bytes, () => {
      Atomics.add(workerData.written, 0, 1);
      Atomics.notify(workerData.written, 0);
    });
  }
});`;

class Sender {
  readonly #written = new Int32Array(new SharedArrayBuffer(4));
  readonly #worker: Worker;

  constructor(port: number, start: string) {
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const first = start && `${start.length.toString(16)}\r\n${start}\r\n`;
    const bytes = `${head}${first}${'1\r\na\r\n'.repeat(LETTERS)}0\r\n\r\n`;
    const workerData = { port, bytes, written: this.#written, connections: CONNECTIONS };
    this.#worker = new Worker(SENDER, { eval: true, workerData });
  }

  /** Returns when every connection has bytes waiting in the kernel, which one turn could read. */
  sendAll(): void {
    this.#worker.postMessage('send');
    for (let count = 0; count < CONNECTIONS; count = Atomics.load(this.#written, 0)) {
      expect(Atomics.wait(this.#written, 0, count, 60_000)).not.toBe('timed-out');
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
