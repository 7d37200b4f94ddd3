/** Bad input of the voice changer is refused as documented, without charges, traces or delay of other clients. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { MAX_TURN_MS } from '../harness/stall.ts';
import { INTERNAL_HOSTS, LOOPBACK_HOSTS, LOOPBACK_URLS, OTHER_SCHEMES } from '../infra/http/vectors.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { type BadRequest, BODIES, FIELDS, FORMS, IDS, SOURCES } from './badRequests.ts';
import type { Reply } from './client.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { serveFile } from './fileServer.ts';
import { simulatedModels } from './models.ts';
import {
  complete,
  completeForGood,
  outcomeOf,
  queueFile,
  queueIdOf,
  queueJson,
  retrieve,
  untilState,
} from './orders.ts';
import { madeByFfmpeg, toneWav } from './recordings.ts';
import { type Refusal, expectRefused as refused } from './refusals.ts';
import { createStallMeter, expectUntouched, startBystander } from './untouched.ts';

const MODEL = 'quick-voice';
const LOCAL = 'local-voice-changer';
const MEGABYTE = 1_048_576;

let farebox: Deployment;
let fileServer: Server;
let fileHost: string;
let canaries: Server[] = [];
let canaryHits = 0;
let transfersBefore = 0;
const meter = createStallMeter();
const readStall = () => meter.read(farebox);

beforeAll(async () => {
  fileServer = createServer(serveFile);
  await listen(fileServer, { port: 0, host: '127.0.0.1' });
  fileHost = `127.0.0.1:${portOf(fileServer)}`;
  canaries = await openCanaries();
  const { provider, models } = simulatedModels({ [MODEL]: {}, 'other-voice': {} });
  const text = {
    id: 'some-text-model',
    type: 'text',
    provider: 'texts',
    privacy: 'private',
    spec: {
      name: 'Text',
      availableContextTokens: 1_000,
      capabilities: {},
      pricing: { input: { usd: 1, diem: 1 }, output: { usd: 1, diem: 1 } },
    },
  };
  farebox = await openDeployment({
    configuration: {
      providers: { simulated: provider, texts: { kind: 'openai', baseUrl: 'http://127.0.0.1:9' } },
      models: [...models, text],
      fetch: { allowPrivateHosts: [fileHost, '127.0.0.1:1'] },
    },
    variables: meter.variables,
  });
});

afterAll(async () => {
  await farebox?.close();
  for (const server of [fileServer, ...canaries]) {
    server?.closeAllConnections();
    server?.close();
  }
});

beforeEach(async () => {
  transfersBefore = await farebox.transfers();
});

afterEach(async () => {
  await expectUntouched(farebox, transfersBefore);
  expect(canaryHits, 'hits of the canaries').toBe(0);
});

function expectRefused(send: () => Promise<Reply>, expected: Refusal): Promise<void> {
  return refused(readStall, send, expected);
}

function table(cases: BadRequest[]): void {
  it.each(cases)('refuses $name with $status', async ({ path, call, status, body }) => {
    const { api } = farebox.account;
    await expectRefused(() => api.post(path ?? '/audio/voice-changer/queue', call), { status, body });
  });
}

describe('a source', () => table(SOURCES));
describe('a field', () => table(FIELDS));
describe('a JSON body', () => table(BODIES));
describe('a multipart body', () => table(FORMS));
describe('a queue_id', () => table(IDS));

describe('a file', () => {
  const invalid = { status: 400, body: { error: expect.any(String) } };
  const sine = ['-f', 'lavfi', '-i', 'sine=frequency=220:duration=2'];
  const picture = ['-f', 'lavfi', '-i', 'color=red:size=64x64:duration=2:rate=5'];
  const whole = toneWav(2);
  const files: [string, () => Promise<Buffer> | Buffer, object?][] = [
    ['that is empty', () => Buffer.alloc(0)],
    ['of one byte', () => Buffer.from('x')],
    ['of noise', () => randomBytes(100_000)],
    ['of text', () => Buffer.from('This is a text.\n'.repeat(1_000))],
    ['that is a web page', () => Buffer.from('<!doctype html><html><body>404</body></html>')],
    ['that is a picture', () => madeByFfmpeg([...picture, '-frames:v', '1'], 'png')],
    ['that is a playlist', () => Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n')],
    ['that names other files', () => Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n")],
    ['that is a head without a body', () => whole.subarray(0, 44)],
    ['that is cut', async () => (await madeByFfmpeg(sine, 'flac')).subarray(0, -2_000)],
    ['with a video track', () => madeByFfmpeg([...picture, ...sine, '-shortest', '-c:v', 'mpeg4'], 'mp4')],
    ['without an audio track', () => madeByFfmpeg([...picture, '-c:v', 'mpeg4'], 'mp4')],
    ['that stops a parser', () => asfLoop()],
    ['that is longer than the model takes', () => toneWav(601), { status: 422, body: { error: expect.any(String) } }],
  ];
  it.each(files)('is refused: a file %s', async (_name, make, expected = invalid) => {
    const source = await make();
    const send = () => queueFile(farebox.account.api, { model: LOCAL, source });
    await expectRefused(send, expected as typeof invalid);
  });

  it('is refused in a format that the model does not accept, whatever its name', async () => {
    const source = new File([new Uint8Array(await madeByFfmpeg(sine, 'ogg'))], 'a.wav', {
      type: 'audio/wav',
    });
    await expectRefused(() => queueFile(farebox.account.api, { model: MODEL, source }), invalid);
  });

  it('is refused over 25 MB, and not too large at 25 MB', async () => {
    const tooLarge = { code: 'PAYLOAD_TOO_LARGE', error: 'File exceeds the maximum allowed size of 25 MB.' };
    const send = (sizeBytes: number) => () =>
      queueFile(farebox.account.api, { model: LOCAL, source: Buffer.alloc(sizeBytes) });
    await expectRefused(send(25 * MEGABYTE + 1), { status: 413, body: tooLarge });
    await expectRefused(send(40 * MEGABYTE), { status: 413, body: tooLarge });
    await expectRefused(send(25 * MEGABYTE), invalid);
  });
});

/** CVE-2026-31808: a header object of size zero sends a parser into an endless loop. */
function asfLoop(): Buffer {
  const head = Buffer.from('3026b2758e66cf11a6d900aa0062ce6c', 'hex');
  return Buffer.concat([head, Buffer.alloc(39)]);
}

describe('a length claimed by a file', () => {
  it('is ignored in favour of the decoded length', async () => {
    const { api } = farebox.account;
    const lying = toneWav(61);
    lying.writeUInt32LE(8_000 * 2, 40);
    const before = await farebox.moneyOf(farebox.account);
    const reply = await queueFile(api, { model: LOCAL, source: lying });
    expect(reply.body).toMatchObject({ status: 'QUEUED', duration_seconds: 61 });
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(100_000_000n);
    const longer = toneWav(2);
    longer.writeUInt32LE(0xffffffff, 40);
    const second = await queueFile(api, { model: LOCAL, source: longer });
    expect(second.body).toMatchObject({ status: 'QUEUED', duration_seconds: 2 });
    for (const queueId of [reply, second].map(queueIdOf)) {
      await outcomeOf(api, { model: LOCAL, queueId });
      await completeForGood(api, { model: LOCAL, queueId });
    }
    transfersBefore = await farebox.transfers();
  });
});

describe('a URL', () => {
  const fixed = { error: 'The audio_url could not be fetched.' };

  it('gets one answer and no packet if it leads to an internal address in any spelling', async () => {
    const onEachPort = (host: string) => ports().map((port) => `http://${host}:${port}/`);
    const urls = [
      ...[...LOOPBACK_HOSTS, ...INTERNAL_HOSTS].map((host) => `http://${host}/`),
      ...['127.0.0.1', '[::1]', 'localhost', '2130706433', '0'].flatMap(onEachPort),
      ...LOOPBACK_URLS.map((url) => url.replace('{port}', '80')),
    ];
    // guardedFetch.test.ts runs all of them against the guard itself.
    const answers = await answersTo(urls.filter((_, index) => index % longRun(3, 1) === 0));
    for (const { url, status } of answers) expect({ url, status }).toEqual({ url, status: 400 });
    const fetched = answers.filter(({ body }) => body.error !== 'Invalid request parameters');
    expect(fetched.length).toBeGreaterThan(longRun(25, 80));
    for (const { url, body } of fetched) expect({ url, body }).toEqual({ url, body: fixed });
  });

  it('is refused with another scheme, or if it is not a URL', async () => {
    for (const { url, status } of await answersTo(OTHER_SCHEMES)) expect({ url, status }).toEqual({ url, status: 400 });
  });

  it('gets the same answer if it redirects to an internal address, endlessly or to nothing', async () => {
    const redirects = [301, 302, 303, 307, 308].flatMap((status) =>
      ports().map((port) => `http://${fileHost}/redirect?status=${status}&to=http://127.0.0.1:${port}/`),
    );
    const others = ['/redirect?status=302&to=/redirect?status=302', '/missing', '/refused', '/cut', '/late-page'];
    const urls = [...redirects, ...others.map((path) => `http://${fileHost}${path}`), 'http://127.0.0.1:1/'];
    for (const { url, status, body } of await answersTo(urls)) {
      if (url.endsWith('/late-page')) expect({ url, status }).toEqual({ url, status: 400 });
      else expect({ url, status, body }).toEqual({ url, status: 400, body: fixed });
    }
  });

  it('is refused as too large if its body is over 25 MB, announced or not', async () => {
    for (const { status } of await answersTo([`http://${fileHost}/huge`, `http://${fileHost}/endless`])) {
      expect(status).toBe(413);
    }
  });

  function ports(): number[] {
    return canaries.map(portOf);
  }

  /** Sends twelve at a time, like a scanner. */
  async function answersTo(urls: string[]) {
    const answers: { url: string; status: number; body: Record<string, unknown> }[] = [];
    const waiting = [...urls];
    const scan = async () => {
      for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
        const { status, body } = await queueJson(farebox.account.api, { model: LOCAL, audio_url: url });
        answers.push({ url, status, body });
      }
    };
    await Promise.all(Array.from({ length: 12 }, scan));
    return answers;
  }
});

describe('a job', () => {
  async function finished(): Promise<string> {
    const { api } = farebox.account;
    const queueId = queueIdOf(await queueFile(api, { model: MODEL, source: toneWav(1) }));
    await untilState(api, queueId, 'stored');
    transfersBefore = await farebox.transfers();
    return queueId;
  }

  it('is unknown to another account', async () => {
    const queueId = await finished();
    const { api } = farebox.other;
    const foreign = { status: 400, body: { error: 'Request ID is invalid.' } };
    await expectRefused(() => retrieve(api, { model: MODEL, queueId }), foreign);
    await expectRefused(() => complete(api, { model: MODEL, queueId }), foreign);
    await expectRefused(() => api.get(`/jobs/${queueId}`), foreign);
    await expectRefused(() => api.post(`/jobs/${queueId}/cancel`), foreign);
    await completeForGood(farebox.account.api, { model: MODEL, queueId });
  });

  it('is shown under its own model only, and its media are gone after deletion', async () => {
    const queueId = await finished();
    const { api } = farebox.account;
    for (const model of ['other-voice', LOCAL]) {
      const wrong = { status: 400, body: { error: 'Invalid request parameters', details: { model: {} } } };
      await expectRefused(() => retrieve(api, { model, queueId }), wrong);
      await expectRefused(() => complete(api, { model, queueId }), wrong);
    }
    expect((await retrieve(api, { model: MODEL, queueId: queueId.toUpperCase() })).status).toBe(200);
    await completeForGood(api, { model: MODEL, queueId });
    const gone = { status: 404, body: { error: expect.any(String) } };
    await expectRefused(() => retrieve(api, { model: MODEL, queueId }), gone);
  });
});

describe('an order that cannot be paid', () => {
  it('is refused and leaves nothing', async () => {
    const poor = await createAccount(farebox.pool, { id: randomUUID(), name: 'poor' });
    const { secret } = await createKey(farebox.pool, { accountId: poor.id, keyType: 'INFERENCE' });
    const order = { model: MODEL, source: toneWav(1) };
    const send = (key: string) => () => queueFile(farebox.account.api, { ...order, call: { key } });
    const empty = { error: expect.stringMatching(/^Insufficient USD or Diem balance to complete request\./) };
    await expectRefused(send(secret), { status: 402, body: empty });
    const limited = await farebox.newKey({ limits: { usd: 10_000_000n, diem: 0n } });
    const limit = { error: expect.stringMatching(/^API key (USD|DIEM) spend limit exceeded\./) };
    await expectRefused(send(limited), { status: 402, body: limit });
  });
});

describe('other clients during bad input', () => {
  it('are served, and the event loop never stalls', async () => {
    const bystander = startBystander(farebox);
    await readStall();
    const storm = [...BODIES, ...FORMS, ...FIELDS];
    const sender = async () => {
      for (let next = storm.shift(); next !== undefined; next = storm.shift()) {
        await farebox.account.api.post(next.path ?? '/audio/voice-changer/queue', next.call);
      }
    };
    await Promise.all(Array.from({ length: 4 }, sender));
    const stall = await readStall();
    expect(await bystander.stop()).toBeGreaterThan(0);
    expect(stall.longestMs, 'event-loop stall in ms').toBeLessThan(MAX_TURN_MS);
  });

  it('leave live processes without uncaught errors, and a sound ledger', async () => {
    expect((await fetch(`${farebox.origin}/healthz`)).status).toBe(200);
    const metrics = await (await fetch(`${farebox.origin}/metrics`)).text();
    expect(metrics).toMatch(/^farebox_uncaught_errors_total(\{[^}]*\})? 0$/m);
    expect(farebox.worker.logs()).not.toMatch(/"level":(50|60)/);
    expect(await checkLedger(farebox.pool)).toEqual([]);
  });
});

/** Opens canaries on the ports that user URLs may name, where possible. */
async function openCanaries(): Promise<Server[]> {
  const opened: Server[] = [];
  for (const [host, port] of [
    ['127.0.0.1', 80],
    ['::1', 80],
    ['127.0.0.1', 0],
    ['::1', 0],
  ] as const) {
    const server = createServer((_request, response) => {
      canaryHits += 1;
      response.end(toneWav(1));
    });
    await listen(server, { host, port }).then(
      () => opened.push(server),
      // A port that is taken or forbidden is skipped.
      () => undefined,
    );
  }
  return opened;
}

function listen(server: Server, at: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, resolve);
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
