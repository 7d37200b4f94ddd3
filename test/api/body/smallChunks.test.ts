/** Bodies in chunks of one byte: every reader keeps little more memory than it received bytes. */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createBodyBudget } from '../../../api/body/bodyBuffer.ts';
import { BodyReader } from '../../../api/body/bodyReader.ts';
import { readRaw } from '../../../api/body/readBody.ts';
import { readJson } from '../../../api/body/readJson.ts';
import { readMultipart } from '../../../api/body/readMultipart.ts';
import { readSpooledJson } from '../../../api/body/spooledJson.ts';
import { TurnGuard } from '../../../api/server/turnGuard.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const SENT_BYTES = 200_000;
/** A doubling buffer keeps up to two bytes per byte, plus tolerance. A Buffer for each chunk keeps 100 and more. */
const MAX_KEPT_PER_BYTE = 20;

type Read = (request: IncomingMessage) => Promise<unknown>;

const createFolder = () => Promise.reject(new Error('nothing of this goes to disk'));
const FIELD = '--B\r\nContent-Disposition: form-data; name="title"\r\n\r\n';
const reservedBytes = createBodyBudget(1_000_000_000).open('test');
const bodyReader = new BodyReader(new TurnGuard());
const SPOOLED = {
  bodyReader,
  maxBytes: 1_000_000,
  maxFileBytes: 1_000_000,
  createFolder,
  reservedBytes,
  noteSpooled: () => undefined,
};
const FORM = {
  ...{ bodyReader, boundary: 'B', maxFileBytes: 1_000_000, createFolder, reservedBytes },
  noteSpooled: () => undefined,
};
const FILES = { name: 'file', most: 1, maxTotalBytes: 1_000_000 };

interface Reader {
  read: Read;
  start: string;
  letters?: number;
}

const READERS: [string, Reader][] = [
  [
    'a raw body',
    { read: (request) => readRaw(request, { bodyReader, maxBytes: 1_000_000, reservedBytes }), start: '' },
  ],
  [
    'a JSON body',
    { read: (request) => readJson(request, { bodyReader, maxBytes: 1_000_000, reservedBytes }), start: '{"a":"' },
  ],
  [
    'a JSON body whose long texts are spooled',
    {
      read: (request) => readSpooledJson(request, SPOOLED),
      start: '{"a":"',
    },
  ],
  [
    'the members of a JSON body with spooled texts',
    {
      read: (request) => readSpooledJson(request, SPOOLED),
      start: '{"a":1',
    },
  ],
  [
    'a field of a form',
    {
      read: (request) => readMultipart(request, { ...FORM, files: FILES }),
      ...{ start: FIELD, letters: 16_000 },
    },
  ],
];

it.each(READERS)('%s keeps few bytes for each byte of a body in chunks of one', async (_name, reader) => {
  // The median of three, because other work of this process may leave memory behind in one of them.
  const kept = [await keptPerByte(reader), await keptPerByte(reader), await keptPerByte(reader)];
  expect(kept.sort((left, right) => left - right)[1]).toBeLessThan(MAX_KEPT_PER_BYTE);
});

async function keptPerByte({ read, start, letters = SENT_BYTES }: Reader): Promise<number> {
  const chunks = Buffer.from(`${start.length.toString(16)}\r\n${start}\r\n`);
  const oneByteChunks = Buffer.from('1\r\n1\r\n'.repeat(letters));
  let received = 0;
  const server = createServer((request) => {
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    read(request).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  if (start !== '') socket.write(chunks);
  await expect.poll(() => received).toBe(start.length);
  const before = await keptBytes();
  socket.write(oneByteChunks);
  await expect.poll(() => received).toBe(start.length + letters);
  const kept = (await keptBytes()) - before;
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  return kept / letters;
}

async function keptBytes(): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn();
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
