/**
 * Bad input of the text routes gets the documented answer, without calls or charges, while other clients are served.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { dataUrl, png } from '../api/text/pictures.ts';
import { docx, officeParts, pdf, xlsx, zip } from '../engines/documents/archives.ts';
import { type Behaviour, endless, type HostileServer, hostileServer } from '../infra/http/hostileServer.ts';
import { article, page } from '../infra/http/pages/readerWorld.ts';
import { INTERNAL_HOSTS, LOOPBACK_HOSTS, LOOPBACK_URLS, OTHER_SCHEMES } from '../infra/http/vectors.ts';
import { type OpenAiStub, startOpenAiStub } from '../stubs/openai.ts';
import type { BadRequest } from './badRequests.ts';
import { blobOf, type Call, type Reply } from './client.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import {
  CHAT,
  CHAT_MODEL,
  chat,
  EMBEDDING_FIELDS,
  EMBEDDING_MODEL,
  EMBEDDINGS,
  file,
  MASSES,
  MESSAGE_FIELDS,
  NUMBERS,
  PAGES,
  PARSER,
  PICTURES,
  picture,
  SCRAPE,
  withPart,
} from './textBadRequests.ts';

/** Limit of another client's request. Other tests share the machine's cores. */
const PROBE_LIMIT_MS = 20_000;

let farebox: Deployment;
let upstream: OpenAiStub;
let site: HostileServer;
let canary: Server;
let canaryHits = 0;
let before: Books;

const GIGABYTE = 1_000_000_000;
const PACKED = gzipSync(Buffer.alloc(60_000_000, ' '));
const SITE: Record<string, Behaviour> = {
  '/endless': endless,
  '/gigabyte': (_, response) => response.writeHead(200, { 'content-length': String(GIGABYTE) }).write('<p>'),
  '/bomb': (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(PACKED),
  '/divs': page(article(`${'<div>'.repeat(1_000_000)}x`)),
  '/redirect': (request, response) => {
    const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to') ?? '/';
    response.writeHead(302, { location: to }).end();
  },
};

const PRICE = { usd: 1, diem: 1 };

beforeAll(async () => {
  upstream = await startOpenAiStub();
  upstream.apiKey = undefined;
  site = await hostileServer(SITE);
  canary = createServer((_request, response) => {
    canaryHits += 1;
    response.end('inside');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
  const capabilities = {
    ...{ supportsVision: true, supportsAudioInput: true, supportsVideoInput: true, supportsLogProbs: true },
    ...{ supportsFunctionCalling: true, supportsResponseSchema: true },
  };
  const model = { provider: 'stub', privacy: 'private' };
  const text = { name: 'Text', availableContextTokens: 100_000, capabilities };
  farebox = await openDeployment({
    configuration: {
      providers: { stub: { kind: 'openai', baseUrl: upstream.baseUrl, allowPrivateNetwork: true } },
      models: [
        {
          ...{ ...model, id: CHAT_MODEL, type: 'text' },
          spec: { ...text, pricing: { input: PRICE, output: PRICE } },
        },
        {
          ...{ ...model, id: EMBEDDING_MODEL, type: 'embedding' },
          spec: { name: 'Embedding', pricing: { input: PRICE } },
        },
      ],
      fetch: { allowPrivateHosts: [`127.0.0.1:${site.port}`] },
    },
  });
  // The first hold of a day grants the daily allocation.
  expect((await farebox.account.api.post(PARSER, { form: { file: new File(['text'], 'a') } })).status).toBe(200);
});

afterAll(async () => {
  await farebox?.close();
  await Promise.all([upstream?.close(), site?.close()]);
  canary?.close();
});

interface Books {
  transfers: number;
  entries: number;
  money: bigint;
  calls: number;
}

async function books(): Promise<Books> {
  const { rows } = await farebox.pool.query('select count(*)::int as entries from usage_entries');
  const [transfers, money] = [await farebox.transfers(), await farebox.moneyOf(farebox.account)];
  return { transfers, money, entries: rows[0].entries, calls: upstream.received.length };
}

async function openHolds(): Promise<number> {
  return (await farebox.pool.query('select count(*)::int as open from holds')).rows[0].open;
}

beforeEach(async () => {
  before = await books();
});

afterEach(async () => {
  expect(await books()).toEqual(before);
  await eventually(async () => ((await openHolds()) === 0 ? true : undefined));
  expect(canaryHits, 'hits of the canary').toBe(0);
  await expect.poll(() => farebox.temporaryFiles(), { message: 'files' }).toEqual([]);
});

/** Requests models while `work` runs, first after it began. Each request must succeed. */
async function beside<T>(work: Promise<T>): Promise<T> {
  let running = true;
  const ended = work.finally(() => {
    running = false;
  });
  ended.catch(() => undefined);
  do {
    const response = await fetch(`${farebox.baseUrl}/models?type=embedding`, {
      headers: { authorization: `Bearer ${farebox.other.inferenceKey}` },
      signal: AbortSignal.timeout(PROBE_LIMIT_MS),
    });
    expect([response.status, ((await response.json()) as { object: string }).object]).toEqual([200, 'list']);
  } while (running);
  return await ended;
}

const send = (path: string, call: Call): Promise<Reply> => beside(farebox.account.api.post(path, call));

async function expectRefused({ path = CHAT, call, status, body }: Omit<BadRequest, 'name'>): Promise<void> {
  const reply = await send(path, call);
  expect({ status: reply.status, body: reply.body }).toMatchObject({ status, body });
  expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
}

function table(cases: BadRequest[]): void {
  it.each(cases)('refuses $name with $status', (request) => expectRefused(request));
}

describe('excessive input', () => table(MASSES));
describe('a message', () => table(MESSAGE_FIELDS));
describe('a number', () => table(NUMBERS));
describe('an embedding', () => table(EMBEDDING_FIELDS));
describe('a picture', () => table(PICTURES));
describe('a page', () => table(PAGES));

it('accepts half a character in a text like any other', async () => {
  const messages = [{ role: 'user', content: 'a \ud800 b' }];
  const reply = await send(CHAT, { json: { model: CHAT_MODEL, messages } });
  expect(reply.status).toBe(200);
  const embedded = await send(EMBEDDINGS, { json: { model: EMBEDDING_MODEL, input: '\udfff' } });
  expect(embedded.status).toBe(200);
  before = await books();
});

const LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>';
const CATALOGUE = '<</Type/Catalog/Pages 2 0 R>>';

/** PDF locked with an unknown password. */
function lockedPdf(): Buffer {
  const lock = `<</Filter/Standard/V 1/R 2/P -4/O<${'5a'.repeat(32)}>/U<${'a5'.repeat(32)}>>>`;
  const whole = pdf([CATALOGUE, '<</Type/Pages/Kids[]/Count 0>>', lock]).toString('latin1');
  return Buffer.from(whole.replace('/Root', '/Encrypt 3 0 R/ID[<00><00>]/Root'), 'latin1');
}

const DOCUMENTS: [string, () => Buffer, string, string?][] = [
  [
    'an entity bomb of a text',
    () => zip(officeParts('docx', `${LAUGHS}<w:document><w:body><w:p>&c;</w:p></w:body></w:document>`)),
    'damaged',
    'a.docx',
  ],
  ['an entity bomb of a workbook', () => xlsx(`${LAUGHS}<row><c t="str"><v>&c;</v></c></row>`), 'damaged'],
  ['a PDF with a password', lockedPdf, 'protected by a password', 'a.pdf'],
  [
    'a PDF whose pages contain themselves',
    () => pdf([CATALOGUE, '<</Type/Pages/Kids[2 0 R]/Count 100>>']),
    'damaged',
    'a.pdf',
  ],
  ['a text of tags without end', () => docx('<w:tbl><w:tr><w:tc>'.repeat(1_000_000)), 'too complex'],
  ['a page of a million tags', () => Buffer.from(`<html>${'<div>'.repeat(1_000_000)}x`), 'too complex', 'a.html'],
  ['noise', () => Buffer.from([0, 1, 2, 3, 0xff, 0xfe, 0xfd, 0]), 'cannot be read'],
];

describe.each(DOCUMENTS)('%s', (_name, make, words, filename) => {
  const body = { error: expect.stringContaining(words) };

  it('is refused in a message and by the document parser', async () => {
    const bytes = make();
    await expectRefused(chat('', withPart(file(dataUrl(bytes, ''), filename)), body));
    const form = { file: new File([new Uint8Array(bytes)], filename ?? 'a', { type: typeOf(filename) }) };
    await expectRefused({ path: PARSER, call: { form }, status: 400, body });
  });
});

describe('a zip bomb', () => {
  const spaces = Buffer.alloc(101 * 1024 * 1024, ' ');
  // On a busy machine the time limit applies before the size limit.
  const body = { error: expect.stringMatching(/too large|too complex/) };

  it('is refused as a text in a message', async () => {
    const bytes = zip(officeParts('docx', spaces));
    await expectRefused(chat('', withPart(file(dataUrl(bytes, ''), 'a.docx')), body));
  });

  it('is refused as a workbook by the document parser', async () => {
    const relations = { name: 'xl/_rels/workbook.xml.rels', content: spaces };
    const form = { file: blobOf(zip(officeParts('xlsx', '<workbook/>', [relations]))) };
    await expectRefused({ path: PARSER, call: { form }, status: 400, body });
  });
});

/** The document parser sees the claimed type and no name. */
function typeOf(filename = ''): string {
  return filename.endsWith('.html') ? 'text/html' : 'application/octet-stream';
}

describe('the document parser', () => {
  const form = (parts: Record<string, string | Blob>) => ({ path: PARSER, call: { form: parts } });
  const anything = { error: expect.any(String) };

  it('refuses non-documents, large files and unknown fields', async () => {
    await expectRefused({ ...form({ response_format: 'json' }), status: 400, body: anything });
    await expectRefused({ ...form({ file: blobOf(Buffer.alloc(0)) }), status: 400, body: anything });
    await expectRefused({ ...form({ file: blobOf(png(64, 64)) }), status: 400, body: anything });
    const text = blobOf(Buffer.from('text'));
    await expectRefused({ ...form({ file: text, response_format: 'xml' }), status: 400, body: anything });
    await expectRefused({ ...form({ file: text, model: 'x' }), status: 400, body: anything });
    const body = { code: 'PAYLOAD_TOO_LARGE', error: expect.stringContaining('25 MB') };
    await expectRefused({ ...form({ file: blobOf(Buffer.alloc(26_214_401)) }), status: 413, body });
    const json = { path: PARSER, call: { json: { file: 'x' } } };
    await expectRefused({ ...json, status: 400, body: { error: expect.stringContaining('Content-Type') } });
  });
});

const PARTS: [string, (url: string) => object][] = [
  ['image_url', picture],
  ['file_data', (url) => file(url)],
  ['video_url', (url) => ({ type: 'video_url', video_url: { url } })],
];

describe('a URL to an internal address', () => {
  const port = () => (canary.address() as AddressInfo).port;
  /** Every spelling, names, and redirects of an allowed site. */
  const urls = () => [
    ...[...LOOPBACK_HOSTS, ...INTERNAL_HOSTS].map((host) => `http://${host}/`),
    ...['127.0.0.1', '[::1]', 'localhost', '2130706433', '0', os.hostname()].map((host) => `http://${host}:${port()}/`),
    ...LOOPBACK_URLS.map((url) => url.replace('{port}', '80')),
    ...OTHER_SCHEMES.filter((url) => url !== '' && !url.startsWith('data:')),
    `http://127.0.0.1:${site.port}/redirect?to=http://127.0.0.1:${port()}/`,
    `http://127.0.0.1:${site.port}/redirect?to=http://169.254.169.254/latest`,
    `http://127.0.0.1:${site.port}/nothing`,
  ];

  /** Sends 24 at a time, like a scanner. */
  async function scan(ask: (url: string) => Promise<Reply>): Promise<{ url: string; said: unknown }[]> {
    const waiting = urls();
    const answers: { url: string; said: unknown }[] = [];
    const scanner = async () => {
      for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
        const { status, body } = await ask(url);
        answers.push({ url, said: [status, body] });
      }
    };
    await beside(Promise.all(Array.from({ length: 24 }, scanner)));
    return answers;
  }

  it.each(PARTS)('gets one answer in %s, and no packet is sent', async (name, part) => {
    const answers = await scan((url) =>
      farebox.account.api.post(CHAT, { json: { model: CHAT_MODEL, ...withPart(part(url)) } }),
    );
    const said = [400, { error: `The ${name} could not be fetched.` }];
    for (const answer of answers) expect(answer).toEqual({ url: answer.url, said });
    expect(answers.length).toBeGreaterThan(120);
  });

  it('is refused in input_audio and not fetched', async () => {
    const answers = await scan((url) => {
      const part = { type: 'input_audio', input_audio: { data: url, format: 'wav' } };
      return farebox.account.api.post(CHAT, { json: { model: CHAT_MODEL, ...withPart(part) } });
    });
    for (const { url, said } of answers) {
      expect({ url, said }).toMatchObject({ said: [400, { error: 'Invalid request parameters' }] });
    }
  });

  it('gets one answer per kind when scraped', async () => {
    const answers = await scan((url) => farebox.account.api.post(SCRAPE, { json: { url } }));
    const words = [
      [400, { error: 'The url must be an absolute http or https URL without credentials.' }],
      [400, { error: 'The page could not be fetched.' }],
    ];
    for (const { url, said } of answers) {
      if (!url.endsWith('/nothing')) expect(words, url).toContainEqual(said);
    }
  });
});

describe('a page without an end', () => {
  const at = (path: string) => `http://127.0.0.1:${site.port}${path}`;

  it.each(['/gigabyte', '/endless', '/bomb'])('is read up to the limit: %s', async (path) => {
    const error = 'The page is larger than 10 MB.';
    await expectRefused({ path: SCRAPE, call: { json: { url: at(path) } }, status: 400, body: { error } });
    for (const [name, part] of PARTS) {
      const reply = await send(CHAT, { json: { model: CHAT_MODEL, ...withPart(part(at(path))) } });
      // Compressed bodies are neither requested nor unpacked.
      const packed = [400, { error: `The ${name} could not be fetched.` }];
      const tooLarge = [413, { code: 'PAYLOAD_TOO_LARGE', error: expect.stringContaining('larger than 25 MB') }];
      const said = [reply.status, reply.body];
      if (reply.status === 400) expect(said).toEqual(packed);
      else expect(said).toEqual(tooLarge);
    }
    // A connection whose response ended may be kept for a while.
    if (path !== '/bomb') await eventually(async () => (site.openSockets() === 0 ? true : undefined));
  });

  it('is too complex with a million nested tags', async () => {
    const error = 'The page is too complex to be read.';
    const call = { json: { url: at('/divs') } };
    await expectRefused({ path: SCRAPE, call, status: 400, body: { error } });
  });
});

it('leaves a live process without uncaught errors, and a sound ledger', async () => {
  expect((await fetch(`${farebox.origin}/healthz`)).status).toBe(200);
  const metrics = await (await fetch(`${farebox.origin}/metrics`)).text();
  expect(metrics).toMatch(/^farebox_uncaught_errors_total(\{[^}]*\})? 0$/m);
  expect(await checkLedger(farebox.pool)).toEqual([]);
});
