/** The share of one account in a process: spooled and fetched bytes, and slots for decoders. */
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { json } from '../../api/http/answer.ts';
import { defineRoute } from '../../api/http/route.ts';
import type { LimitOverride } from '../../domain/limits/limits.ts';
import { DOCUMENT_CHILDREN } from '../../engines/documents/documentReader.ts';
import { IMAGE_CHILDREN } from '../../engines/images/imageWork.ts';
import { INSPECTION_CHILDREN } from '../../engines/media/inspector.ts';
import { createAccountShares, DECODERS, type SlotKind } from '../../infra/accountShares.ts';
import { PAGE_CHILDREN, PAGES_AT_ONCE } from '../../infra/http/pages/pageReader.ts';
import { toneWav } from '../acceptance/recordings.ts';
import { startApi, type TestApi } from './startApi.ts';

const sharesOf = (override: LimitOverride = {}) => createAccountShares({ overrideOf: () => override });
const never = new AbortController().signal;
const refused = (limitType: string) => expect.objectContaining({ code: 'rate_limited', limitType });

describe('bytes', () => {
  it('are counted over all requests of an account, and free again after each', () => {
    const shares = sharesOf({ fetchedBytes: 100 });
    const [first, second] = [shares.open('a'), shares.open('a')];
    first.take(60);
    second.take(40);
    expect(() => second.take(1)).toThrow(refused('FETCHED_BYTES'));
    shares.open('b').take(100);
    first.release();
    first.release();
    second.take(60);
    expect(() => second.take(1)).toThrow(refused('FETCHED_BYTES'));
    expect(() => first.take(1)).toThrow(refused('FETCHED_BYTES'));
  });

  it('are 1 GB by default', () => {
    const share = sharesOf().open('a');
    share.take(1_000_000_000);
    expect(() => share.take(1)).toThrow(refused('FETCHED_BYTES'));
  });
});

describe('slots', () => {
  async function mostAtOnce(
    override: LimitOverride,
    accounts: readonly string[],
    kind: SlotKind = 'documents',
  ): Promise<number> {
    const shares = sharesOf(override);
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    };
    await Promise.all(accounts.map((accountId) => shares.open(accountId).inSlot(kind, work, never)));
    return most;
  }

  it.each<[string, LimitOverride, string[], number]>([
    ['one account has half of them', {}, ['a', 'a', 'a', 'a'], 1],
    ['two accounts have both halves', {}, ['a', 'a', 'b', 'b'], 2],
    ['an override gives more', { slots: 3 }, ['a', 'a', 'a', 'a'], 3],
  ])('%s', async (_name, override, accounts, most) => {
    expect(await mostAtOnce(override, accounts)).toBe(most);
  });

  it.each<[SlotKind, number]>([
    ['decoders', DECODERS],
    ['documents', DOCUMENT_CHILDREN],
    ['inspections', INSPECTION_CHILDREN],
    ['pages', PAGES_AT_ONCE],
    ['conversions', PAGE_CHILDREN],
    ['pictures', IMAGE_CHILDREN],
  ])('one account has at most half of the %s of a process', async (kind, ofProcess) => {
    expect(await mostAtOnce({}, Array(20).fill('a'), kind)).toBeLessThanOrEqual(ofProcess / 2);
  });

  it('never allow more decoders than the process has, whatever an account may use', async () => {
    const accounts = ['a', 'b', 'c', 'd'].flatMap((name) => Array<string>(4).fill(name));
    expect(await mostAtOnce({ slots: 8 }, accounts, 'decoders')).toBe(DECODERS);
  });

  it('refuse the work of an account of which too much waits, and no other account', async () => {
    const shares = sharesOf();
    let open = () => undefined as unknown;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const start = (accountId: string) => shares.open(accountId).inSlot('decoders', () => opened, never);
    const waiting = Array.from({ length: 65 }, () => start('a'));
    await expect(start('a')).rejects.toEqual(refused('SLOTS'));
    const other = start('b');
    open();
    await Promise.all([...waiting, other]);
  });
});

describe('over HTTP', () => {
  let api: TestApi;
  let source: Server;
  let url: string;
  const spoolRoute = defineRoute({
    method: 'POST',
    path: '/test/spool',
    access: 'caller',
    body: { multipart: { fields: z.strictObject({}), maxFileBytes: 3_000_000 } },
    handler: async (_dependencies, { file }) => json({ size: file?.sizeBytes ?? 0 }),
  });

  beforeAll(async () => {
    source = createServer((_request, response) => response.end(Buffer.alloc(900_000)));
    await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
    const { port } = source.address() as AddressInfo;
    url = `http://127.0.0.1:${port}/source`;
    api = await startApi({
      routes: [spoolRoute],
      config: (config) => ({ ...config, fetch: { allowPrivateHosts: [`127.0.0.1:${port}`] } }),
    });
    const limits = api.opened.dependencies.limits.calls;
    limits.overrideOf = () => ({ failedPer30s: 1_000, fetchedBytes: 800_000 });
  });
  afterAll(async () => {
    await api.stop();
    source.close();
  });

  async function upload(bytes: number, key: string) {
    const form = new FormData();
    form.set('file', new Blob([Buffer.alloc(bytes)]), 'a');
    const response = await api.call('/test/spool', { method: 'POST', key, body: form });
    return { status: response.status, retryAfter: response.headers.get('retry-after') };
  }

  it('counts an upload on disk, not one in memory, and leaves no file behind', async () => {
    const { secret: key, accountId } = await api.newKey('INFERENCE');
    expect((await upload(700_000, key)).status).toBe(200);
    expect(await upload(1_500_000, key)).toEqual({ status: 429, retryAfter: '5' });
    expect((await upload(700_000, key)).status).toBe(200);
    expect((await upload(200_000, key)).status).toBe(200);
    const { limiter } = api.opened.dependencies.limits.calls;
    expect(await limiter.refusals(accountId)).toMatchObject([{ rateLimitType: 'FETCHED_BYTES' }]);
  });

  it('a fetched source that is too much ends its download with 429', async () => {
    const { secret: key } = await api.fundedKey('INFERENCE');
    const body = JSON.stringify({ model: 'local-edit', prompt: 'flip it', image: url });
    const headers = { 'content-type': 'application/json' };
    const response = await api.call('/image/edit', { method: 'POST', key, body, headers });
    const words = 'Rate limit exceeded: at most 800000 bytes of uploads and fetched media at a time for this account.';
    expect([response.status, await response.json()]).toEqual([429, { error: words, customMessage: words }]);
  });

  it('counts a page like any other source', async () => {
    const { secret: key } = await api.fundedKey('INFERENCE');
    const headers = { 'content-type': 'application/json' };
    const response = await api.call('/augment/scrape', {
      ...{ method: 'POST', key, headers },
      body: JSON.stringify({ url }),
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '5']);
  });

  it("keeps decoders free for other accounts while one account's addresses are slow", async () => {
    const late: (() => void)[] = [];
    api.opened.dependencies.providers.downloads = {
      async download(address, { path }) {
        if (address.endsWith('/slow')) await new Promise<void>((resolve) => late.push(resolve));
        await writeFile(path, toneWav(1));
        return { contentType: 'audio/wav', sizeBytes: toneWav(1).length, sha256: '' };
      },
    };
    const [{ secret: slow }, { secret: other }] = await Promise.all([
      api.fundedKey('INFERENCE'),
      api.fundedKey('INFERENCE'),
    ]);
    const priceOf = (path: string, key: string) =>
      api.call('/audio/voice-changer/queue', {
        ...{ method: 'POST', key },
        headers: { 'content-type': 'application/json', 'x-service-dry-run': 'true' },
        body: JSON.stringify({ model: 'local-voice-changer', audio_url: new URL(path, url).href }),
      });
    const waiting = [priceOf('/slow', slow), priceOf('/slow', slow)];
    await vi.waitFor(() => expect(late).toHaveLength(2), { timeout: 180_000 });
    expect((await priceOf('/sound', other)).status).toBe(200);
    expect((await priceOf('/sound', slow)).status).toBe(200);
    for (const answer of late) answer();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
  });
});
