/** What the real store never does, and a dying one does: an answer that stops in its middle. */
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStorage, type Storage } from '../../../infra/s3/storage.ts';

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

beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'farebox s3 '));
  server = http.createServer((request, answer) => {
    if (request.url?.includes('list-type=2'))
      return void answer.writeHead(200, LISTED.headers).end(LISTED.body);
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
  return storage.getFile('incoming/one/source', path.join(folder, 'source'), signal);
}

test('an object whose server falls silent is waited for no longer than the step may take', async () => {
  half = () => undefined;
  await expect(take(AbortSignal.timeout(300))).rejects.toThrow(/abort/i);
});

test('an object whose server dies in its middle fails at once', async () => {
  half = (answer) => void setTimeout(() => answer.destroy(), 50);
  await expect(take(new AbortController().signal)).rejects.toThrow();
});

test('a list tells what time it is for the store, whatever time it is here', async () => {
  half = () => undefined;
  const { objects, at } = await storage.list('incoming/');
  expect(objects.map(({ key, modifiedAt }) => [key, at.getTime() - modifiedAt.getTime()])).toEqual([
    ['incoming/one', 7_999],
  ]);
});
