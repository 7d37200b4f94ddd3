/**
 * Sends bad pictures, recordings and requests to a running API with local models. Each gets the documented answer,
 * charges nothing and leaves nothing behind, and the process continues undisturbed.
 */
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { badSounds, sixHours } from '../engines/media/badSounds.ts';
import { JFK, testFolder } from '../engines/media/recordings.ts';
import { originals } from '../fixtures/badImages/originals.ts';
import { badImages } from '../fixtures/badImages.ts';
import { MAX_TURN_MS } from '../harness/stall.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { addresses, BASE64, BOUNDS, CUTOUT, EDIT, FIELDS, FORMS, IMAGE, STYLED_MODEL } from './badPictureBodies.ts';
import type { BadRequest } from './badRequests.ts';
import { CLONER, RECORDING_FORMS, SPEAKER, SPEECHES, TRANSCRIBER, TRANSCRIPTIONS, VOICES } from './badSoundBodies.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { serveFile } from './fileServer.ts';
import { multipart } from './multipart.ts';
import { sendersOf, spellings, takesPicture } from './pictureSenders.ts';
import { expectRefused } from './refusals.ts';
import { createStallMeter } from './untouched.ts';

/**
 * Maximum growth of a warm process over all requests: about 60 MB by which V8 grows its spaces before a collection
 * (infra/steadyHeap.ts), and what malloc keeps of a body. All bodies together have half a gigabyte, so a leak of a
 * fifth exceeds this.
 */
const MAX_GROWTH_BYTES = 96 * 1024 * 1024;
const folder = testFolder();
let farebox: Deployment;
let files: Server;
let canary: Server;
let canaryHits = 0;
const meter = createStallMeter();
const readStall = () => meter.read(farebox);
let before: Books;
let residentBefore: number;

const originOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const inside = () => `${originOf(canary)}/secret`;

beforeAll(async () => {
  files = await listening(createServer(serveFile));
  canary = await listening(
    createServer((_request, response) => {
      canaryHits += 1;
      response.end('inside');
    }),
  );
  farebox = await openDeployment({
    configuration: configuration(),
    variables: { FAL_KEY: 'none', ...meter.variables },
  });
  await warmUp();
  before = await books();
  residentBefore = residentBytes();
});

afterAll(async () => {
  await farebox?.close();
  for (const server of [files, canary]) {
    server?.closeAllConnections();
    server?.close();
  }
  rmSync(folder, { recursive: true });
});

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function configuration(): object {
  const price = { usd: 0.001, diem: 0.001 };
  const spec = {
    ...{ name: 'Styled card', supportsStyleReferences: true, pricing: { generation: price } },
    constraints: { maxStyleReferences: 2 },
  };
  return {
    providers: { fal: { kind: 'fal' } },
    models: [
      {
        ...{ id: STYLED_MODEL, type: 'image', provider: 'simulator', upstreamModel: 'simulator-image' },
        ...{ privacy: 'private', spec },
      },
    ],
    fetch: { allowPrivateHosts: [originOf(files).slice('http://'.length)] },
  };
}

/** Sends one good request of each kind, which starts the child processes and grants the daily allocation. */
async function warmUp(): Promise<void> {
  const { api } = farebox.account;
  const good = [...sendersOf('json'), ...sendersOf('form')].map(({ path, send }) => ({
    path,
    call: send(Buffer.from(IMAGE, 'base64')),
  }));
  const recording = { name: 'file', filename: 'jfk.flac', value: readFileSync(JFK) };
  const model = { name: 'model', value: TRANSCRIBER };
  good.push({ path: TRANSCRIPTIONS, call: multipart([model, recording]) });
  good.push({ path: '/audio/speech', call: { json: { model: SPEAKER, input: 'The fare is paid.' } } });
  for (const { path, call } of good) {
    const reply = await api.post(path, call);
    // A plain square has no subject to cut out.
    const expected = path === CUTOUT ? [200, 400] : [200];
    expect(expected, `${path} ${reply.body.error}`).toContain(reply.status);
  }
}

interface Books {
  transfers: number;
  entries: number;
  money: bigint;
}

async function books(): Promise<Books> {
  const { rows } = await farebox.pool.query('select count(*)::int as entries from usage_entries');
  const money = await farebox.moneyOf(farebox.account);
  return { transfers: await farebox.transfers(), entries: rows[0].entries, money };
}

async function openHolds(): Promise<number> {
  return (await farebox.pool.query('select from holds')).rowCount ?? 0;
}

/** Resident memory of the API process, from the kernel. */
function residentBytes(): number {
  const status = readFileSync(`/proc/${farebox.api.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

function table(cases: BadRequest[]): void {
  it.each(cases)('refuses $name with $status', async ({ path = '', call, status, body }) => {
    await expectRefused(readStall, () => farebox.account.api.post(path, call), { status, body });
  });
}

describe('pictures out of bounds', () => table(BOUNDS));
describe('text in place of a picture', () => table(BASE64));
describe('a field', () => table(FIELDS));
describe('a form', () => table(FORMS));
describe('texts to speak', () => table(SPEECHES));
describe('a form with a recording', () => table(RECORDING_FORMS));

describe('an address', () => {
  const cases = addresses('http://files', () => 'http://inside/');
  it.each(cases)('is refused: $name with $status', async ({ path = '', call, status, body }) => {
    const json = JSON.parse(
      JSON.stringify(call.json).replaceAll('http://files', originOf(files)).replaceAll('http://inside/', inside()),
    );
    await expectRefused(readStall, () => farebox.account.api.post(path, { json }), { status, body });
  });
});

describe('invalid and unsupported pictures', async () => {
  const images = await badImages();
  const bad = images.filter(({ look, decodes }) => look !== undefined || !decodes);
  const senders = [...sendersOf('json'), ...sendersOf('form')];
  const cases = bad.flatMap((image, index) => {
    const takers = senders.filter((sender) => takesPicture(sender, image));
    const chosen = longRun(1, 0) === 0 ? takers : [takers[index % takers.length]];
    return chosen.flatMap((sender) => (sender ? [{ ...image, ...sender }] : []));
  });

  it('number at least one hundred and twenty', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBeGreaterThanOrEqual(120);
  });

  it.each(cases)('get 400: $name over $title', async ({ file, path, send, field, spelling }) => {
    // An empty picture in JSON is an invalid field.
    const words = file.length === 0 && spelling === 'json' ? /^Invalid request/ : sentenceAbout(field);
    const body = { error: expect.stringMatching(words) };
    await expectRefused(readStall, () => farebox.account.api.post(path, send(file)), { status: 400, body });
  });
});

/** The message names the field, or the only picture. */
function sentenceAbout(field: string): RegExp {
  const name = field.replace(/[[\].]/g, '\\$&');
  return new RegExp(`^(${name}|The image) (is|has|could) .+\\.$`);
}

describe('invalid and unsupported recordings', () => {
  const sounds = badSounds(folder, inside);
  const routes = [
    { path: TRANSCRIPTIONS, model: TRANSCRIBER },
    { path: VOICES, model: CLONER },
  ];
  const cases = sounds.flatMap(([name, sound], index) =>
    routes
      .filter((_, each) => longRun(1, 0) === 0 || (each === 1) === (index % 4 === 3))
      .map((route) => ({
        ...{ name, sound },
        ...route,
      })),
  );
  it.each(cases)('get 400: $name over $path', async ({ sound, path, model }) => {
    const { bytes, name = 'file.mp3', type } = sound();
    const file = { name: 'file', filename: name, value: bytes, ...(type === undefined ? {} : { type }) };
    const call = multipart([{ name: 'model', value: model }, file]);
    const body = { error: expect.stringMatching(/audio|file|video/i) };
    await expectRefused(readStall, () => farebox.account.api.post(path, call), { status: 400, body });
  });

  it('get 422 for six hours of silence at 8 kbps', async () => {
    const file = { name: 'file', filename: 'a.mp3', value: sixHours(folder) };
    for (const { path, model } of routes) {
      const call = multipart([{ name: 'model', value: model }, file]);
      const body = { error: expect.stringMatching(/longer than \d+ seconds/) };
      await expectRefused(readStall, () => farebox.account.api.post(path, call), { status: 422, body });
    }
  });
});

it('answers all bodies, eight at a time, as one by one, without stalling the event loop', async () => {
  const bodies = [...BOUNDS, ...BASE64, ...FORMS, ...SPEECHES, ...RECORDING_FORMS];
  let stallMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && stallMs > MAX_TURN_MS; attempt += 1) {
    await readStall();
    const waiting = [...bodies];
    const sender = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { name, path = '', call, status, body } = next;
        const reply = await farebox.account.api.post(path, call);
        expect({ name, status: reply.status, body: reply.body }).toMatchObject({ name, status, body });
      }
    };
    await Promise.all(Array.from({ length: 8 }, sender));
    stallMs = Math.min(stallMs, (await readStall()).longestMs);
  }
  expect(stallMs, 'event-loop stall in ms').toBeLessThan(MAX_TURN_MS);
});

describe('the deployment afterwards', () => {
  it('has no charge, hold or file left, and sent no internal request', async () => {
    expect(await books()).toEqual(before);
    await expect.poll(openHolds).toBe(0);
    await expect.poll(() => farebox.temporaryFiles()).toEqual([]);
    expect(await farebox.objects()).toEqual([]);
    expect(canaryHits).toBe(0);
    expect(await checkLedger(farebox.pool)).toEqual([]);
  });

  it('runs the same process without uncaught errors, with its memory released', async () => {
    expect((await fetch(`${farebox.origin}/healthz`)).status).toBe(200);
    expect(() => process.kill(farebox.api.pid, 0)).not.toThrow();
    const metrics = await (await fetch(`${farebox.origin}/metrics`)).text();
    expect(metrics).toMatch(/^farebox_uncaught_errors_total(\{[^}]*\})? 0$/m);
    // The collector runs by activity, so this does the quiet work of an ordinary client.
    const growth = async () => {
      await farebox.account.api.get('/models');
      return residentBytes() - residentBefore;
    };
    await expect.poll(growth, { interval: 100 }).toBeLessThan(MAX_GROWTH_BYTES);
  });
});

describe('valid pictures in rare encodings', async () => {
  const images = (await badImages()).filter(({ look, decodes }) => look === undefined && decodes);
  const senders = [...sendersOf('json'), ...sendersOf('form')].filter(({ path }) => path !== CUTOUT);
  const cases = images.flatMap((image) => senders.map((sender) => ({ ...image, ...sender })));
  // The step is a prime, so that every route occurs.
  it.each(cases.filter((_, index) => index % longRun(37, 1) === 0))(
    'get 200: $name over $title',
    async ({ file, path, send }) => {
      const reply = await farebox.account.api.post(path, send(file));
      expect([reply.status, reply.body.error]).toEqual([200, undefined]);
    },
  );
});

it('accepts other spellings of a picture as the same picture', async () => {
  const { entries: already } = await books();
  const { png } = await originals();
  const zeros = Buffer.alloc((4 - (png.length % 3)) % 3);
  const picture = Buffer.concat([png, zeros]);
  expect(picture.toString('base64')).toMatch(/[+/].*==$/);
  const replies = await Promise.all(
    spellings(picture).map(async ([name, call]) => ({
      name,
      ...(await farebox.account.api.post(EDIT, call)),
    })),
  );
  for (const { name, status, bytes } of replies) {
    expect([name, status, bytes.equals(replies[0]?.bytes ?? Buffer.alloc(0))]).toEqual([name, 200, true]);
  }
  expect((await books()).entries - already).toBe(replies.length);
});
