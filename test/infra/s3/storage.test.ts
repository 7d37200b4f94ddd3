/** A fault that the real store shows only when it fails: an answer that stops halfway. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStorage, type Storage } from '../../../infra/s3/storage.ts';
import { services } from '../../harness/services.ts';

const ANNOUNCED_BYTES = 100_000;

const LISTED = {
  headers: { 'Content-Type': 'application/xml', Date: 'Sat, 21 Nov 2026 03:00:07 GMT' },
  body: `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>false</IsTruncated><Contents>
<Key>incoming/one</Key><Size>1</Size><LastModified>2026-11-21T03:00:00.000Z</LastModified></Contents></ListBucketResult>`,
};

let folder: string;
let server: http.Server;
let storage: Storage;
let half: (answer: http.ServerResponse) => void;
let puts: number;

beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'farebox s3 '));
  puts = 0;
  server = http.createServer((request, answer) => {
    if (request.method === 'PUT') {
      puts += 1;
      const error = { status: 409, body: '<Error><Code>ExistingObjectIsDirectory</Code></Error>' };
      const { status, body } = puts < 3 ? error : { status: 200, body: '' };
      request.resume().once('end', () => answer.writeHead(status).end(body));
      return;
    }
    if (request.url?.includes('list-type=2')) return void answer.writeHead(200, LISTED.headers).end(LISTED.body);
    answer.writeHead(200, { 'Content-Length': ANNOUNCED_BYTES });
    answer.write(Buffer.alloc(1_000));
    half(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const secrets = { accessKeyId: 'an-id', secretAccessKey: 'a-secret' };
  const endpoint = `http://127.0.0.1:${port}`;
  storage = openStorage({ ...secrets, endpoint, region: 'us-east-1', bucket: 'media', timeoutMs: 60_000 });
});

afterEach(async () => {
  storage.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function take(signal: AbortSignal): Promise<boolean> {
  return storage.getFile('incoming/one/source', { path: path.join(folder, 'source'), signal });
}

test('waits for a silent server no longer than the limit of the step', async () => {
  half = () => undefined;
  await expect(take(AbortSignal.timeout(300))).rejects.toThrow(/abort/i);
});

test('fails at once when the server dies in the middle of an object', async () => {
  half = (answer) => void setTimeout(() => answer.destroy(), 50);
  await expect(take(new AbortController().signal)).rejects.toThrow();
});

test('repeats a put that collides with the removal of an empty folder', async () => {
  await storage.putBytes('incoming/one/source', Buffer.from('bytes'), { contentType: 'text/plain' });
  expect(puts).toBe(3);
  puts = 0;
  const file = path.join(folder, 'source');
  writeFileSync(file, 'bytes');
  await storage.putFile('incoming/one/source', file, { contentType: 'text/plain', sizeBytes: 5 });
  expect(puts).toBe(3);
});

test('reports the time of the store in a listing, whatever the local time', async () => {
  half = () => undefined;
  const { objects, at } = await storage.list('incoming/');
  expect(objects.map(({ key, modifiedAt }) => [key, at.getTime() - modifiedAt.getTime()])).toEqual([
    ['incoming/one', 7_999],
  ]);
});

describe('an object in the real store', () => {
  let real: Storage;
  beforeAll(async () => {
    real = openStorage({ ...services().s3, bucket: `checked-${randomUUID()}` });
    await real.createBucket();
  });
  afterAll(() => real.close());

  const bytes = randomBytes(3_000_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const other = createHash('sha256').update('other').digest('hex');
  const { signal } = new AbortController();
  const about = { contentType: 'audio/wav', sha256 };

  test('is refused when it differs from its digest, whole or as a stream', async () => {
    const source = path.join(folder, 'source');
    writeFileSync(source, bytes);
    await expect(real.putBytes('a/wrong', bytes, { ...about, sha256: other })).rejects.toThrow();
    const wrong = { ...about, sha256: other, sizeBytes: bytes.length };
    await expect(real.putFile('b/wrong', source, wrong)).rejects.toThrow();
    expect((await real.list('')).objects).toEqual([]);
  });

  test('is returned unchanged, and is an error when it was replaced', async () => {
    const [source, target] = [path.join(folder, 'source'), path.join(folder, 'target')];
    for (const size of [0, 1, 1_048_576, 1_048_577, bytes.length]) {
      const part = bytes.subarray(0, size);
      const digest = createHash('sha256').update(part).digest('hex');
      writeFileSync(source, part);
      await real.putFile('c/part', source, { ...about, sha256: digest, sizeBytes: size });
      await real.putBytes('c/whole', part, { ...about, sha256: digest });
      for (const key of ['c/part', 'c/whole']) {
        expect(await real.getFile(key, { path: target, sha256: digest, signal })).toBe(true);
        expect(readFileSync(target).equals(part)).toBe(true);
        const mistaken = real.getFile(key, { path: target, sha256: other, signal });
        await expect(mistaken).rejects.toThrow('not what was put there');
      }
    }
    expect(await real.getFile('c/none', { path: target, signal })).toBe(false);
  });
});
