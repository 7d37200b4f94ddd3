/** Documents are read only for accounts with funds. After many failed readings, an account's documents are refused. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDocumentReader, type DocumentReader } from '../../../engines/documents/documentReader.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { dataUrl } from './pictures.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const DOCX = readFileSync(new URL('../../fixtures/documents/Numbering.docx', import.meta.url));
const CHILD = fileURLToPath(new URL('../../fixtures/stubbornDocumentChild.mjs', import.meta.url));
const CENT = 10_000_000n;

let world: TextWorld;
let shipped: DocumentReader;
let stubborn: DocumentReader;
/** Name of each document that the reader got, with the amount held for its account at that time. */
let read: { filename: string | undefined; heldNano: bigint }[] = [];
let payer: { secret: string; accountId: string };

beforeAll(async () => {
  world = await startTextWorld();
  const { dependencies } = world.api.opened;
  dependencies.limits.calls.overrideOf = () => ({ requestsPerMinute: 10_000 });
  shipped = dependencies.providers.documents;
  stubborn = createDocumentReader({
    workFolders: dependencies.providers.folders,
    childPath: CHILD,
    timeoutMs: 1_000,
  });
});
afterAll(async () => {
  stubborn.close();
  await world.close();
});

function readWith(reader: DocumentReader): void {
  const { dependencies } = world.api.opened;
  read = [];
  dependencies.providers.documents = {
    async read(document, options) {
      read.push({ filename: document.filename, heldNano: await heldOf(payer.accountId) });
      return await reader.read(document, options);
    },
    close: () => reader.close(),
  };
}

async function heldOf(accountId: string): Promise<bigint> {
  const { rows } = await world.api.opened.dependencies.core.sql.query(
    'select coalesce(sum(usd_held), 0)::text as held from accounts where id = $1',
    [accountId],
  );
  return BigInt(rows[0].held);
}

async function newPayer(amount: bigint): Promise<void> {
  payer = await world.api.newKey('INFERENCE');
  if (amount === 0n) return;
  const credit = { operationId: randomUUID(), accountId: payer.accountId, currency: 'usd', amount } as const;
  await grant(world.api.opened.dependencies.core.sql, { ...credit, notes: 'test' });
}

function ask(bytes: Buffer, filename: string, more: object = {}) {
  const part = { type: 'file', file: { file_data: dataUrl(bytes, 'application/octet-stream'), filename } };
  const body = { max_tokens: 5, messages: [{ role: 'user', content: [part] }], ...more };
  return world.chat(body, { key: payer.secret });
}

async function parse(bytes: Buffer, filename: string): Promise<Response> {
  const form = new FormData();
  form.set('file', new Blob([bytes]), filename);
  return await world.api.call('/augment/text-parser', { method: 'POST', key: payer.secret, body: form });
}

const HTML = Buffer.from('<p>Some words.</p>');
const DAMAGED = Buffer.from('%PDF-1.4 no');

describe('a document in a chat', () => {
  it('is never read for an account without funds', async () => {
    await newPayer(0n);
    readWith(shipped);
    const response = await ask(DOCX, 'a.docx');
    expect([response.status, read]).toEqual([402, []]);
  });

  it('is never read for less funds than the price of a reading', async () => {
    await newPayer(CENT - 1n);
    readWith(shipped);
    const response = await ask(DOCX, 'a.docx');
    expect([response.status, read]).toEqual([402, []]);
  });

  it('is read under a hold, which the hold for the model then replaces', async () => {
    await newPayer(CENT);
    readWith(shipped);
    const response = await ask(DOCX, 'a.docx');
    expect([response.status, read]).toEqual([200, [{ filename: 'a.docx', heldNano: CENT }]]);
    const { id } = (await response.json()) as { id: string };
    await world.settled();
    const { rows } = await world.api.opened.dependencies.core.sql.query(
      'select request_id from usage_entries where account_id = $1',
      [payer.accountId],
    );
    expect(rows).toEqual([{ request_id: id }]);
  });
});

describe('an account with unreadable documents', () => {
  it('is refused after thirty in ten minutes, on every route', async () => {
    await newPayer(100n * CENT);
    readWith(shipped);
    for (let sent = 0; sent < 30; sent += 1) {
      const response = sent % 2 === 0 ? await ask(DAMAGED, 'a.pdf') : await parse(DAMAGED, 'a.pdf');
      expect(response.status).toBe(400);
    }
    expect(read).toHaveLength(30);
    for (const response of [await ask(DOCX, 'a.docx'), await parse(DOCX, 'a.docx')]) {
      expect(response.status).toBe(429);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(500);
      expect(await response.json()).toMatchObject({ error: expect.stringContaining('could not be read') });
    }
    expect(read).toHaveLength(30);
    expect((await world.chat({}, { key: payer.secret })).status).toBe(200);
  });

  it('is refused after five readings that time out', async () => {
    await newPayer(100n * CENT);
    readWith(stubborn);
    for (let sent = 0; sent < 5; sent += 1) expect((await ask(HTML, 'a.hang')).status).toBe(400);
    expect((await ask(HTML, 'a.html')).status).toBe(429);
    expect(read).toHaveLength(5);
  });

  it('is distinguished from one whose documents are read and paid', async () => {
    await newPayer(100n * CENT);
    readWith(shipped);
    for (let sent = 0; sent < 31; sent += 1) expect((await parse(HTML, 'a.html')).status).toBe(200);
  });
});

it('answers 402 to an account without funds, however often it sends a document', async () => {
  await newPayer(0n);
  for (let sent = 0; sent < 31; sent += 1) expect((await ask(DOCX, 'a.docx')).status).toBe(402);
});

it('counts a document as unreadable when its answer is not paid', async () => {
  await newPayer(CENT);
  readWith(shipped);
  for (let sent = 0; sent < 30; sent += 1) {
    expect((await ask(HTML, 'a.html', { max_tokens: 100_000 })).status).toBe(402);
  }
  expect((await ask(HTML, 'a.html')).status).toBe(429);
  expect(read).toHaveLength(30);
});
