/**
 * Retrieve of a 500 MB video against the same GET directly from S3, in turns. Also measures the API's memory growth
 * meanwhile, and during four concurrent downloads.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { request } from 'undici';
import { outputKey } from '../infra/s3/objectKeys.ts';
import type { Storage } from '../infra/s3/storage.ts';
import { peakDuring, residentMb } from './memory.ts';
import { percentile, reachesBars, round } from './statistics.ts';
import { openWorld, query, storageOf, storeOf, type World } from './world.ts';

const SIZE_BYTES = 500 * 1024 * 1024;
const PIECE_BYTES = 4 * 1024 * 1024;
/** Read-ahead of the client. */
const PIECES_BYTES = 64 * 1024;
const ROUNDS = 5;
const AT_ONCE = 4;
const MODEL = 'local-video';
const CONTENT_TYPE = 'video/mp4';

interface StoredVideo {
  queueId: string;
  key: string;
}

export async function benchmarkDelivery(): Promise<{ ok: boolean }> {
  const world = await openWorld({});
  const storage = storageOf(world);
  try {
    const { accountId, inference } = await world.createPayer();
    const { queueId, key } = await storeVideo({ world, storage }, accountId);
    const api = await world.start('api');
    const viaApi = () => measureRate(openRetrieve(api.origin, inference, queueId));
    const straight = () => measureRate(openObject(world, key));
    await straight();
    await viaApi();
    const quietMb = residentMb(api.pid);
    const floor: number[] = [];
    const product: number[] = [];
    const oneMb = await peakDuring(api.pid, async () => {
      for (let turn = 0; turn < ROUNDS; turn += 1) {
        floor.push(await straight());
        product.push(await viaApi());
      }
    });
    const manyMb = await peakDuring(api.pid, async () => {
      await Promise.all(Array.from({ length: AT_ONCE }, viaApi));
    });
    return reportFigures({ floor, product, added: { one: oneMb - quietMb, many: manyMb - quietMb } });
  } finally {
    storage.close();
    await world.close();
  }
}

/** Inserts a finished job. Only the size of its output matters. */
async function storeVideo(
  { world, storage }: { world: World; storage: Storage },
  accountId: string,
): Promise<StoredVideo> {
  const queueId = randomUUID();
  const file = path.join(world.folder, 'large.mp4');
  const sha256 = await writeNoise(file);
  const key = outputKey(queueId, 'bench');
  await storage.putFile(key, file, { contentType: CONTENT_TYPE, sizeBytes: SIZE_BYTES, sha256 });
  await query(
    world,
    `insert into jobs (queue_id, account_id, kind, model_id, provider, state, request_id, price_usd_nano,
         charge_operation_id, charge_id, deadline_at, output_key, output_content_type, output_bytes, output_sha256,
         output_seconds, stored_at, media_expires_at)
       values ($1, $2, 'video', $3, 'local', 'stored', 'bench', 50000000, $1, 'bench', now() + interval '1 day',
         $4, $5, $6, $7, 60, now(), now() + interval '1 day')`,
    [queueId, accountId, MODEL, key, CONTENT_TYPE, SIZE_BYTES, sha256],
  );
  return { queueId, key };
}

async function writeNoise(file: string): Promise<string> {
  const hash = createHash('sha256');
  const piece = randomBytes(PIECE_BYTES);
  const target = createWriteStream(file);
  for (let written = 0; written < SIZE_BYTES; written += PIECE_BYTES) {
    hash.update(piece);
    if (!target.write(piece)) await once(target, 'drain');
  }
  target.end();
  await once(target, 'close');
  return hash.digest('hex');
}

interface SignedGet {
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
}

/** Uses the same HTTP client as the retrieve, with headers signed by the S3 client. */
async function openObject(world: World, key: string): Promise<Readable> {
  const { endpoint, region, bucket, ...credentials } = storeOf(world);
  let signed: SignedGet | undefined;
  const signer = new S3Client({
    ...{ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 },
    requestHandler: {
      handle: async (asked: SignedGet) => {
        signed = asked;
        throw new Error('signed');
      },
    },
  });
  await signer.send(new GetObjectCommand({ Bucket: bucket, Key: key })).catch(() => undefined);
  if (!signed) throw new Error('nothing was signed');
  const { path: where, query: named, headers } = signed;
  const url = `${endpoint}${where}?${new URLSearchParams(named)}`;
  const { statusCode, body } = await request(url, {
    headers,
    highWaterMark: PIECES_BYTES,
  });
  if (statusCode === 200) return body;
  throw new Error(`the store answered ${statusCode}`);
}

async function openRetrieve(origin: string, key: string, queueId: string): Promise<Readable> {
  const { statusCode, headers, body } = await request(`${origin}/api/v1/video/retrieve`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, queue_id: queueId }),
    highWaterMark: PIECES_BYTES,
  });
  if (statusCode === 200 && headers['content-type'] === CONTENT_TYPE) return body;
  throw new Error(`retrieve: ${statusCode} ${headers['content-type']}`);
}

/** MB per second, from the request to the last byte. */
async function measureRate(opening: Promise<Readable>): Promise<number> {
  const startMs = performance.now();
  let bytes = 0;
  for await (const piece of await opening) bytes += (piece as Buffer).length;
  if (bytes !== SIZE_BYTES) throw new Error(`${bytes} of ${SIZE_BYTES} bytes came`);
  return SIZE_BYTES / 1_048_576 / ((performance.now() - startMs) / 1_000);
}

interface DeliveryRates {
  floor: number[];
  product: number[];
  added: { one: number; many: number };
}

function reportFigures({ floor, product, added }: DeliveryRates): { ok: boolean } {
  console.log('retrieve of a video of 500 MB, against the GET from S3; MB a second');
  console.table(
    Object.entries({ floor, product }).map(([side, rates]) => ({
      side,
      median: round(percentile(rates, 0.5)),
      least: round(Math.min(...rates)),
    })),
  );
  console.log(`  added by ${AT_ONCE} at once, MB: ${round(added.many)}`);
  const isReached = reachesBars([
    ['rate ÷ floor', percentile(product, 0.5) / percentile(floor, 0.5), '≥', 0.5],
    ["added to the API's memory, MB", added.one, '≤', 60],
  ]);
  return { ok: isReached };
}
