/**
 * Synchronous work on images and recordings: each operation through the API, with upload and bill, against the library
 * alone, in turns. Also measures how 20 concurrent uploads of 25 MB delay other requests.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp, { type Sharp } from 'sharp';
import { SOURCE_PIXELS } from '../domain/images/images.ts';
import { cutOut } from '../engines/images/cutOut.ts';
import { type LeanClient, openLeanClient } from './leanClient.ts';
import { recognitionFloor } from './media/recognitionFloor.ts';
import { openUploader } from './media/uploadAll.ts';
import { percentile, round, timed } from './statistics.ts';
import { configure, openWorld, type World } from './world.ts';

/** A telephone makePhotograph, and an image that may be enlarged twice. */
const LARGE_PX = { width: 4_096, height: 3_072 };
const SMALL_PX = { width: 2_048, height: 2_048 };
const ROUNDS = 9;
const WARM_UP = 3;
const MAX_RATIO = 1.3;
const PLENTY = 1_000_000_000;
const UPLOADS = 20;
const UPLOAD_BYTES = 25 * 1024 * 1024 - 1;
const QUIET_MS = 8_000;
/** Waves of uploads, with pauses: the 99th percentile of one wave would be just its second slowest call. */
const WAVES = 5;
const BETWEEN_WAVES_MS = 500;
const EVERY_MS = 5;
const MAX_SLOWER = 3;
const LUMA: [number, number, number] = [0.2126, 0.7152, 0.0722];
const SHARPENING = { sigma: 0.9, m1: 0.4, m2: 1.2 };
const RECORDING = path.join(import.meta.dirname, '../../test/fixtures/clear-speech.flac');

interface Client {
  origin: string;
  key: string;
}

interface Operation {
  name: string;
  route: string;
  fields: Record<string, string>;
  /** Form field of the file. */
  part: string;
  file: string;
  /** Runs the library alone. Resolves with its milliseconds. */
  alone(): Promise<number>;
}

export async function benchmarkMedia(): Promise<{ ok: boolean }> {
  sharp.concurrency(1);
  sharp.cache(false);
  const world = await openWorld({});
  try {
    const client = await openClient(world);
    const rows = [];
    for (const operation of await operationsOf(world)) rows.push(await compare(operation, client));
    console.log('work on media while the client waits, against the library alone; ms');
    console.table(
      rows.map(({ name, alone, product, ratio }) => ({
        name,
        alone,
        product,
        [`÷ (≤ ${MAX_RATIO})`]: ratio,
      })),
    );
    const slower = await measureSlowdown(client);
    return { ok: rows.every(({ ratio }) => ratio <= MAX_RATIO) && slower <= MAX_SLOWER };
  } finally {
    await world.close();
  }
}

async function openClient(world: World): Promise<Client> {
  const { accountId, inference } = await world.createPayer();
  const config = { limits: { overrides: { [accountId]: { requestsPerMinute: PLENTY } } } };
  const api = await world.start('api', configure(world, config));
  return { origin: api.origin, key: inference };
}

/** Each operation, with the same steps by the library alone. */
async function operationsOf(world: World): Promise<Operation[]> {
  const [large, small] = ['large', 'small'].map((name) => path.join(world.folder, `${name}.jpg`)) as [string, string];
  writeFileSync(large, await makePhotograph(LARGE_PX));
  writeFileSync(small, await makePhotograph(SMALL_PX));
  const edit = (prompt: string, work: (source: Sharp) => Sharp): Operation => ({
    ...{ name: prompt, route: '/image/edit', part: 'image', file: large },
    fields: { model: 'local-edit', prompt, resolution: '4K', output_format: 'jpeg' },
    alone: () => timeWrite(large, work(sharp(large).autoOrient()).jpeg({ quality: 92 })),
  });
  return [
    edit('make it black and white', (source) => source.recomb([LUMA, LUMA, LUMA])),
    edit('rotate 90 degrees', (source) => source.rotate(90)),
    edit('crop to 16:9, then blur by 5 pixels', (source) =>
      source.extract({ left: 0, top: 384, width: 4_096, height: 2_304 }).blur(5),
    ),
    {
      ...{ name: 'enlarge twice', route: '/image/upscale', part: 'image', file: small },
      fields: { model: 'local-upscale-image', scale: '2' },
      alone: () => timeWrite(small, sharp(small).resize(4_096, 4_096).sharpen(SHARPENING).png({ compressionLevel: 6 })),
    },
    {
      ...{ name: 'cut out', route: '/image/background-remove', part: 'image', file: small },
      fields: { model: 'local-cutout' },
      // The library cannot do this, so the floor is our own function in this process.
      alone: () => timed(() => cutOut({ path: small, target: `${small}.out`, maxPixels: SOURCE_PIXELS.most })),
    },
    {
      ...{ name: 'transcribe', route: '/audio/transcriptions', part: 'file', file: RECORDING },
      fields: { model: 'local-transcribe' },
      alone: () => recognitionFloor(world.environment, { recording: RECORDING, folder: world.folder }),
    },
  ];
}

function timeWrite(source: string, picture: Sharp): Promise<number> {
  return timed(() => picture.toFile(`${source}.out`));
}

async function compare(operation: Operation, client: Client) {
  const alone: number[] = [];
  const product: number[] = [];
  for (let turn = 0; turn < WARM_UP + ROUNDS; turn += 1) {
    const sides = [await operation.alone(), await timed(() => sendOperation(operation, client))] as const;
    if (turn < WARM_UP) continue;
    alone.push(sides[0]);
    product.push(sides[1]);
  }
  rmSync(`${operation.file}.out`, { force: true });
  const [floor, ours] = [percentile(alone, 0.5), percentile(product, 0.5)];
  return { name: operation.name, alone: round(floor), product: round(ours), ratio: round(ours / floor) };
}

async function sendOperation({ route, fields, part, file }: Operation, { origin, key }: Client): Promise<void> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  body.set(part, new Blob([readFileSync(file)]), path.basename(file));
  const answer = await fetch(`${origin}/api/v1${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
  });
  if (answer.status !== 200) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Latency of other requests at the 99th percentile during the uploads ÷ that at rest. */
async function measureSlowdown({ origin, key }: Client): Promise<number> {
  const url = `${origin}/api/v1/billing/usage-history?limit=20`;
  const other = await openLeanClient({
    method: 'GET',
    url,
    headers: { authorization: `Bearer ${key}` },
    body: '',
  });
  try {
    const uploader = await openUploader({
      ...{ url: `${origin}/api/v1/image/edit`, key, file: await noisePng(UPLOAD_BYTES), count: UPLOADS },
      fields: { model: 'local-edit', prompt: 'make it black and white' },
    });
    await waitsUntil(other, pause(1_000));
    const quiet = await waitsUntil(other, pause(QUIET_MS));
    const busy: number[] = [];
    const tookMs: number[] = [];
    const statuses: number[] = [];
    for (let wave = 0; wave < WAVES; wave += 1) {
      const sent = timed(async () => statuses.push(...(await uploader.sendAll())));
      busy.push(...(await waitsUntil(other, sent)));
      tookMs.push(await sent);
      await pause(BETWEEN_WAVES_MS);
    }
    await uploader.close();
    const [atRest, meanwhile] = [percentile(quiet, 0.99), percentile(busy, 0.99)];
    console.log(
      `  ${WAVES} times ${UPLOADS} uploads of 25 MB at once: ${round(percentile(tookMs, 0.5) / 1_000)} s each, statuses ${[...new Set(statuses)]}`,
    );
    console.log(
      `  another route meanwhile (${quiet.length} → ${busy.length} calls), ms: p50 ${round(percentile(quiet, 0.5))} → ${round(percentile(busy, 0.5))}, p99 ${round(atRest)} → ${round(meanwhile)}`,
    );
    console.log(`  p99 ÷ at rest (≤ ${MAX_SLOWER}): ${round(meanwhile / atRest)}`);
    return statuses.every((status) => status === 200) ? meanwhile / atRest : Number.POSITIVE_INFINITY;
  } finally {
    other.close();
  }
}

/** Repeats the call until `over` settles. Resolves with the milliseconds of each. */
async function waitsUntil(client: LeanClient, over: Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  let goesOn = true;
  const end = over.finally(() => {
    goesOn = false;
  });
  while (goesOn) {
    waits.push(await timed(() => client.send()));
    await pause(EVERY_MS);
  }
  await end;
  return waits;
}

const PORTRAIT = path.join(import.meta.dirname, '../../test/fixtures/cutout/astronaut.png');

async function makePhotograph({ width, height }: { width: number; height: number }): Promise<Buffer> {
  return await sharp(PORTRAIT).resize(width, height).jpeg({ quality: 90 }).toBuffer();
}

/** Noise does not compress: three bytes per pixel, and a thousandth for the format. */
async function noisePng(mostBytes: number): Promise<Buffer> {
  const side = Math.floor(Math.sqrt(mostBytes / 3.01));
  const raw = { width: side, height: side, channels: 3 } as const;
  return await sharp(randomBytes(side * side * 3), { raw })
    .png({ compressionLevel: 0 })
    .toBuffer();
}
