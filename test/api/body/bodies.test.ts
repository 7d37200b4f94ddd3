import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { IN_MEMORY_BYTES } from '../../../api/body/upload.ts';
import { json } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { FareboxError } from '../../../domain/errors.ts';
import { longestTurn, MAX_TURN_MS } from '../../harness/stall.ts';
import { sendRaw } from '../sendRaw.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { sendFromOutside } from './sendFromOutside.ts';

const MEGABYTE = 1_048_576;
const fields = z.strictObject({ title: z.string().optional(), flag: z.enum(['true', 'false']).optional() });
const named = z.strictObject({ model: z.string(), title: z.string().optional() });
let seenPath = '';

const upload = defineRoute({
  method: 'POST',
  path: '/test/upload',
  access: 'open',
  body: {
    multipart: { fields, maxFileBytes: 25 * MEGABYTE },
    json: { schema: fields, maxBytes: 2 * MEGABYTE },
  },
  async handler(_dependencies, { body, file, headers }) {
    if (file) {
      const { content } = file;
      seenPath = 'path' in content ? content.path : '';
      const bytes = 'path' in content ? await readFile(content.path) : content.bytes;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      if (bytes.length !== file.sizeBytes || sha256 !== file.sha256) throw new Error('the file is not what was told');
    }
    if (headers['x-fail']) throw new FareboxError({ code: 'conflict', message: 'as asked' });
    return json({
      body,
      file: file && { sizeBytes: file.sizeBytes, sha256: file.sha256, type: file.claimedContentType },
    });
  },
});

const measured = defineRoute({
  method: 'POST',
  path: '/test/measured',
  access: 'open',
  body: { multipart: { fields, maxFileBytes: 25 * MEGABYTE } },
  handler: async (_dependencies, { file }) => json({ sizeBytes: file?.sizeBytes }),
});

const anything = defineRoute({
  method: 'POST',
  path: '/test/json',
  access: 'open',
  body: { json: { schema: z.strictObject({ a: z.unknown() }), maxBytes: 2 * MEGABYTE } },
  handler: async () => json({}),
});

const lenient = defineRoute({
  method: 'POST',
  path: '/test/lenient',
  access: 'open',
  body: {
    multipart: {
      fields: named.extend({ model: z.string().default('usual') }),
      ...{ maxFileBytes: MEGABYTE, knownFields: ['model', 'title'] },
    },
    ...{ needsModel: true, naming: { fields: ['model'], otherwise: 'usual' }, wrongKind: 'Send a form' },
  },
  handler: async (_dependencies, { body }) => json(body),
});

let api: TestApi;
let temporary: string;

beforeAll(async () => {
  api = await startApi({ routes: [upload, measured, anything, lenient] });
  temporary = join(api.opened.dependencies.core.config.dataFolder, 'tmp');
});
afterAll(() => {
  return api.stop();
});

const leftovers = () => (existsSync(temporary) ? readdirSync(temporary) : []);

async function send(form: FormData, headers: Record<string, string> = {}) {
  const response = await api.call('/test/upload', { method: 'POST', body: form, headers });
  return { status: response.status, body: await response.json() };
}

const raw = (type: string, body: string | Buffer, path = '/test/upload') =>
  Buffer.concat([
    Buffer.from(
      `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
    ),
    Buffer.from(body),
  ]);

describe('an uploaded file', () => {
  it('arrives with its size, its digest and the fields, and is removed afterwards', async () => {
    const bytes = randomBytes(3 * MEGABYTE + 17);
    const form = new FormData();
    form.set('title', 'Grüße');
    form.set('file', new Blob([bytes], { type: 'audio/wav' }), '../../etc/passwd');
    const { status, body } = await send(form);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect({ status, body }).toEqual({
      status: 200,
      body: { body: { title: 'Grüße' }, file: { sizeBytes: bytes.length, sha256, type: 'audio/wav' } },
    });
    expect(seenPath.startsWith(temporary)).toBe(true);
    expect(existsSync(seenPath)).toBe(false);
    expect(leftovers()).toEqual([]);
  });

  it('is removed when the handler fails', async () => {
    const form = new FormData();
    form.set('file', new Blob([randomBytes(MEGABYTE)]), 'x');
    expect((await send(form, { 'x-fail': '1' })).status).toBe(409);
    expect(seenPath).not.toBe('');
    expect(leftovers()).toEqual([]);
  });

  it('stays in memory below a limit, and is complete on either side of it', async () => {
    for (const [sizeBytes, onDisk] of [
      [0, false],
      [1, false],
      [IN_MEMORY_BYTES, false],
      [IN_MEMORY_BYTES + 1, true],
    ] as const) {
      const form = new FormData();
      form.set('file', new Blob([randomBytes(sizeBytes)]), 'x');
      expect(await send(form)).toMatchObject({ status: 200, body: { file: { sizeBytes } } });
      expect(seenPath !== '').toBe(onDisk);
    }
    expect(leftovers()).toEqual([]);
  });

  it('may have 25 MB and not a byte more', async () => {
    for (const [extra, status] of [
      [0, 200],
      [1, 413],
    ] as const) {
      const form = new FormData();
      form.set('file', new Blob([new Uint8Array(25 * MEGABYTE + extra)]), 'x');
      const answer = await send(form);
      expect(answer.status).toBe(status);
      if (status === 413) {
        expect(answer.body).toEqual({
          code: 'PAYLOAD_TOO_LARGE',
          error: 'File exceeds the maximum allowed size of 25 MB.',
        });
      }
    }
    expect(leftovers()).toEqual([]);
  });

  it('is refused unread when its Content-Length is too large', async () => {
    const answer = await sendRaw(
      api.port,
      'POST /api/v1/test/upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n' +
        'Content-Length: 99999999\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*PAYLOAD_TOO_LARGE/s);
  });

  it('is refused while it is read when it is chunked and too large', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = http.request(`${api.baseUrl}/test/upload`, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=B', 'transfer-encoding': 'chunked' },
      });
      request.on('response', (response) => resolve(response.statusCode));
      request.on('error', reject);
      request.write('--B\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n');
      const piece = Buffer.alloc(MEGABYTE);
      for (let sent = 0; sent < 27; sent += 1) request.write(piece);
      request.end('\r\n--B--\r\n');
    });
    expect(status).toBe(413);
    await expect.poll(leftovers).toEqual([]);
  });

  it('leaves no file behind when its body breaks off', async () => {
    const head = 'POST /api/v1/test/upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n';
    const part = '--B\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';
    await sendRaw(api.port, `${head}Content-Length: 100000\r\n\r\n${part}${'x'.repeat(30_000)}`, {
      quietMs: 100,
    });
    await expect.poll(leftovers).toEqual([]);
    await expect.poll(() => api.inFlight.count).toBe(0);
  });

  it('is absent when no file was chosen in its input', async () => {
    const body =
      '--B\r\nContent-Disposition: form-data; name="file"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--B--\r\n';
    const answer = await sendRaw(api.port, raw('multipart/form-data; boundary=B', body));
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*\{"body":\{\}\}$/s);
  });

  it('adds at most 100 MB of memory for twenty files of 25 MB at once', async () => {
    const part = Buffer.from('--B\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n');
    const body = Buffer.concat([part, Buffer.alloc(25 * MEGABYTE, 7), Buffer.from('\r\n--B--\r\n')]);
    const type = 'multipart/form-data; boundary=B';
    const once = { url: `${api.baseUrl}/test/measured`, type, body };
    await sendFromOutside(once);
    const before = process.memoryUsage().rss;
    let most = before;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 10);
    const statuses = await sendFromOutside({ ...once, times: 20 });
    clearInterval(timer);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((most - before) / MEGABYTE).toBeLessThan(100);
    expect(leftovers()).toEqual([]);
  });
});

describe('a form whose route reads only some fields', () => {
  const sent = async (...fields: [string, string][]) => {
    const form = new FormData();
    for (const [name, value] of fields) form.append(name, value);
    const response = await api.call('/test/lenient', { method: 'POST', body: form });
    return { status: response.status, body: await response.json() };
  };

  it('may repeat its other fields, and gets a default model', async () => {
    const answer = await sent(['a[]', '1'], ['a[]', '2'], ['title', 'T']);
    expect(answer).toEqual({ status: 200, body: { model: 'usual', title: 'T' } });
    expect((await sent(['model', 'mine'])).body).toEqual({ model: 'mine' });
  });

  it('may neither repeat the fields that are read nor leave its model empty', async () => {
    expect((await sent(['title', 'T'], ['title', 'U'])).status).toBe(400);
    expect(await sent(['model', ''])).toEqual({ status: 400, body: { error: 'model is required' } });
  });

  it("is required with the route's own error message", async () => {
    const headers = { 'content-type': 'application/json' };
    const response = await api.call('/test/lenient', { method: 'POST', body: '{}', headers });
    expect([response.status, await response.json()]).toEqual([400, { error: 'Send a form' }]);
  });
});

describe('a malformed multipart body, which gets a 400 and leaves the process alive', () => {
  const field = 'Content-Disposition: form-data; name="title"';
  const type = 'multipart/form-data; boundary=B';
  it.each([
    ['no boundary in the type', 'multipart/form-data', '--B--'],
    ['an empty boundary', 'multipart/form-data; boundary=', '--B--'],
    ['a boundary of 71 characters', `multipart/form-data; boundary=${'b'.repeat(71)}`, '--B--'],
    ['another kind of multipart', 'multipart/mixed; boundary=B', '--B--'],
    ['an empty body', type, ''],
    ['no final boundary', type, `--B\r\n${field}\r\n\r\nx\r\n`],
    ['a field twice', type, `--B\r\n${field}\r\n\r\nx\r\n--B\r\n${field}\r\n\r\ny\r\n--B--`],
    ['a field that is no UTF-8', type, Buffer.from(`--B\r\n${field}\r\n\r\n\xff\r\n--B--`, 'latin1')],
    ['a field of 20 kB', type, `--B\r\n${field}\r\n\r\n${'x'.repeat(20_000)}\r\n--B--`],
    ['a field that the route does not know', type, `--B\r\n${field.replace('title', 'other')}\r\n\r\nx\r\n--B--`],
    ['__proto__ as a field', type, `--B\r\n${field.replace('title', '__proto__')}\r\n\r\nx\r\n--B--`],
    [
      'two files',
      type,
      `--B\r\n${field.replace('title', 'file')}\r\n\r\nx\r\n--B\r\n${field.replace('title', 'file')}\r\n\r\nx\r\n--B--`,
    ],
    ['a file in another field', type, `--B\r\n${field}; filename="x"\r\n\r\nx\r\n--B--`],
    ['a thousand parts', type, `${`--B\r\n${field}\r\n\r\nx\r\n`.repeat(1_000)}--B--`],
    ['an endless header', type, `--B\r\n${'x'.repeat(200_000)}`],
    ['base64', type, `--B\r\n${field}\r\nContent-Transfer-Encoding: base64\r\n\r\neA==\r\n--B--`],
  ])('%s', async (_name, contentType, body) => {
    expect(await sendRaw(api.port, raw(contentType, body))).toMatch(/^HTTP\/1\.1 400 .*\{"error":"/s);
    expect(leftovers()).toEqual([]);
  });
});

describe('hostile JSON', () => {
  const bombs: [string, Buffer, number][] = [
    ['10 MB of [', Buffer.alloc(10 * MEGABYTE, '['), 413],
    ['2 MB of [', Buffer.alloc(2 * MEGABYTE - 1, '['), 400],
    ['65 levels', Buffer.from(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`), 400],
    ['64 levels', Buffer.from(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`), 200],
    ['a million keys', Buffer.from(`{${Array.from({ length: 1_000_000 }, (_, i) => `"${i}":1`).join()}}`), 413],
    ['90,000 keys in 2 MB', Buffer.from(`{${Array.from({ length: 90_000 }, (_, i) => `"key-${i}":1`).join()}}`), 400],
    ['20,000 keys', Buffer.from(`{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join()}}`), 400],
    ['a million numbers', Buffer.from(`{"a":[${'1,'.repeat(999_999)}1]}`), 400],
    ['a number of 2 MB', Buffer.from(`{"a":${'1'.repeat(2 * MEGABYTE - 10)}}`), 200],
    ['a string of 2 MB', Buffer.from(`{"a":"${'x'.repeat(2 * MEGABYTE - 20)}"}`), 200],
    ['backslashes', Buffer.from(`{"a":"${'\\\\'.repeat(MEGABYTE - 20)}"}`), 200],
    ['quotes', Buffer.from('""'.repeat(MEGABYTE - 20)), 400],
    ['invalid UTF-8', Buffer.from('{"a":"\xff"}', 'latin1'), 400],
    ['an overlong encoding', Buffer.from('{"a":"\xc0\x80"}', 'latin1'), 400],
    ['a lone surrogate in an escape', Buffer.from('{"a":"\\ud800"}'), 200],
    ['NaN', Buffer.from('{"a":NaN}'), 400],
    ['a comment', Buffer.from('{"a":1}//'), 400],
  ];

  it.each(bombs)('%s', async (_name, body, status) => {
    const bomb = { url: `${api.baseUrl}/test/json`, type: 'application/json', body };
    const send = async () => {
      expect(await sendFromOutside(bomb)).toEqual([status]);
      await sleep(20);
    };
    expect(await longestTurn(send, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
  });

  it('is refused while it arrives without a length, and keeps the connection open', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const post = (write: (request: http.ClientRequest) => void) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        const request = http.request(`${api.baseUrl}/test/json`, { method: 'POST', agent, headers });
        request.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)));
        request.on('error', reject);
        write(request);
        request.end();
      });
    const statuses = [
      await post((request) => {
        for (let sent = 0; sent < 10; sent += 1) request.write(Buffer.alloc(MEGABYTE, '['));
      }),
      await post((request) => request.write('{"a":1}')),
    ];
    agent.destroy();
    expect(statuses).toEqual([400, 200]);
  });
});
