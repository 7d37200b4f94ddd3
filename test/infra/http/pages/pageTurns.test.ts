/** A process reads a limited number of pages at once, and refuses requests beyond its queue. */
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { errorStatus } from '../../../../api/http/errors.ts';
import { createAccountShares } from '../../../../infra/accountShares.ts';
import { createPageReader, type PageReader } from '../../../../infra/http/pages/pageReader.ts';
import { article, openReaderWorld, page, type ReaderWorld } from './readerWorld.ts';

const BUSY = 'Too many pages are being read at the moment; try again in 5 seconds';

const held: ServerResponse[] = [];
let world: ReaderWorld;
let reader: PageReader;

beforeAll(async () => {
  world = await openReaderWorld({
    '/held': (_, response) => void held.push(response),
    '/slow': page(article(`<p>Words. ${'<br>'.repeat(15_000)}</p>`)),
    '/quick': page(article('<p>Words to be read.</p>')),
  });
});
afterEach(() => reader.close());
afterAll(() => world.close());

function open(turns: { atOnce: number; maxWaiting: number; maxWaitMs: number }) {
  const allowPrivateHosts = [`127.0.0.1:${world.server.port}`];
  reader = createPageReader({ allowPrivateHosts, failureFloorMs: 1, maxChildren: 1, turns });
}

const read = (signal?: AbortSignal) => reader.read(world.at('/held'), signal && { signal });
const arrived = (count: number) => vi.waitFor(() => expect(held).toHaveLength(count), { timeout: 180_000 });

function answerAll(): void {
  for (const response of held.splice(0)) {
    response.writeHead(200, { 'content-type': 'text/html' }).end(article('<p>Words to be read.</p>'));
  }
}

it('reads up to its limit at once, then the next one, and refuses a page beyond the queue', async () => {
  open({ atOnce: 2, maxWaiting: 1, maxWaitMs: 20_000 });
  const first = [read(), read()];
  await arrived(2);
  const next = read();
  await expect(read()).rejects.toMatchObject({ code: 'unavailable', message: BUSY, retryAfterSeconds: 5 });
  expect(errorStatus('unavailable')).toBe(503);
  expect(held).toHaveLength(2);
  answerAll();
  await Promise.all(first);
  await arrived(1);
  answerAll();
  expect((await next).content).toContain('Words to be read.');
});

it('limits the wait of a page, and ends it when its caller aborts', async () => {
  open({ atOnce: 1, maxWaiting: 2, maxWaitMs: 300 });
  const first = read();
  await arrived(1);
  const controller = new AbortController();
  const leaving = read(controller.signal);
  const late = read();
  controller.abort(new Error('stop'));
  await expect(leaving).rejects.toThrow('stop');
  await expect(late).rejects.toMatchObject({ code: 'unavailable', message: BUSY });
  answerAll();
  await first;
});

it('releases the place of a page that failed', async () => {
  open({ atOnce: 1, maxWaiting: 0, maxWaitMs: 300 });
  const missing = () => reader.read(world.at('/missing'));
  await expect(missing()).rejects.toMatchObject({ code: 'page_failed' });
  await expect(missing()).rejects.toMatchObject({ code: 'page_failed' });
});

it('leaves a child process to other accounts', async () => {
  const allowPrivateHosts = [`127.0.0.1:${world.server.port}`];
  reader = createPageReader({ allowPrivateHosts, failureFloorMs: 1 });
  const shares = createAccountShares({ overrideOf: () => ({}) });
  const ended: string[] = [];
  const requestsOf = (path: string) => world.server.requests.filter(({ url }) => url === path).length;
  const readFor = async (account: string, path: string) => {
    await reader.read(world.at(path), { share: shares.open(account) }).catch(() => undefined);
    ended.push(account);
  };
  const slow = [readFor('a', '/slow'), readFor('a', '/slow')];
  await vi.waitFor(() => expect(requestsOf('/slow')).toBe(2), { timeout: 180_000 });
  await readFor('b', '/quick');
  expect(ended).toEqual(['b']);
  await Promise.all(slow);
});
