/**
 * Real parts for tests. Importing this file starts them (once per run); `services()` says where they are, and the
 * `create…` functions give a test a part of its own.
 */
import { randomInt, randomUUID } from 'node:crypto';
import net from 'node:net';
import path from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { inject } from 'vitest';
import { query } from '../../dev/stack/parts/postgres.ts';
import { API_FLAGS, WORKER_FLAGS } from '../../dev/stack/services.ts';
import { REDIS_DATABASES } from './limits.ts';
import { registerNamespace } from './namespace.ts';
import type { Services } from './parts.ts';
import { apiPort, type Spawned, spawnNode, untilReady } from './spawn.ts';
import { databaseOf } from './template.ts';

export type { Services } from './parts.ts';
export type { Spawned } from './spawn.ts';

const READY_TIMEOUT_MS = 120_000;

const started = await askForServices(inject('harness').socketPath);

export function services(): Services {
  return started;
}

/** The URL of a fresh, migrated database that no other test sees. */
export function createDatabase(): Promise<string> {
  return copyOf(started.templateDatabase);
}

/** The URL of a copy of a database that nobody is connected to. */
export function copyDatabase(databaseUrl: string): Promise<string> {
  return copyOf(new URL(databaseUrl).pathname.slice(1));
}

async function copyOf(template: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  await query(started.databaseUrl, `create database ${name} template ${template}`);
  return databaseOf(started.databaseUrl, name);
}

/** An empty bucket, with all that a client needs to use it. */
export async function createBucket(): Promise<Services['s3'] & { bucket: string }> {
  const bucket = `test-${randomUUID().slice(0, 13)}`;
  const { endpoint, region, accessKeyId, secretAccessKey } = started.s3;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } finally {
    client.destroy();
  }
  return { ...started.s3, bucket };
}

export function createNamespace(): Promise<string> {
  return registerNamespace(started.temporal.address);
}

/**
 * Options of ioredis in the address: commands have no deadline. A process that other tests starve for a second would count
 * calls by itself, beside those that Redis has counted, and so admit more than the limit.
 */
const REDIS_OPTIONS = 'commandTimeout=none';

/** A whole deployment's worth of empty parts, as the environment variables that its processes read. */
export async function createWorld(): Promise<{ environment: Record<string, string> }> {
  const [databaseUrl, s3, namespace] = await Promise.all([createDatabase(), createBucket(), createNamespace()]);
  return {
    environment: {
      HOST: '127.0.0.1',
      FAREBOX_DATA: path.join(started.folder, randomUUID()),
      DATABASE_URL: databaseUrl,
      // Redis has no namespaces but numbered databases; a shared one would share its limits.
      REDIS_URL: `${started.redisUrl}/${randomInt(REDIS_DATABASES)}?${REDIS_OPTIONS}`,
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      TEMPORAL_ADDRESS: started.temporal.address,
      TEMPORAL_NAMESPACE: namespace,
      FFMPEG_PATH: started.ffmpegPath,
      FFPROBE_PATH: started.ffprobePath,
      ESPEAK_PATH: started.espeakPath,
      POCKETSPHINX_PATH: started.recogniser.path,
      POCKETSPHINX_MODEL: started.recogniser.model,
    },
  };
}

export interface ProcessOptions {
  /** `createWorld().environment`, with whatever the test adds (FAREBOX_CONFIG, FAREBOX_TEST_POINT, PORT …). */
  environment: Record<string, string>;
  /** Do not wait until it is ready: for processes that are meant to die early. */
  startOnly?: boolean;
  /** Instead of `dist/api/main.js`. */
  script?: string;
}

/** A real API process on a free port; resolves when `/readyz` answers 200. */
export async function spawnApi(options: ProcessOptions): Promise<Spawned & { baseUrl: string; origin: string }> {
  const port = options.environment.PORT ?? String(await apiPort());
  const environment = { ...options.environment, PORT: port };
  const { script = 'dist/api/main.js' } = options;
  const { runFolder } = started;
  const spawned = spawnNode({ script, name: 'api', environment, runFolder, flags: API_FLAGS });
  const origin = `http://127.0.0.1:${port}`;
  if (!options.startOnly) await untilReady(spawned, () => isReady(origin), READY_TIMEOUT_MS);
  return { ...spawned, origin, baseUrl: `${origin}/api/v1` };
}

async function isReady(origin: string): Promise<void> {
  const answer = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(5_000) });
  if (answer.status !== 200) throw new Error(`readyz: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
}

/** A real worker process; resolves when it says that it is ready. */
export async function spawnWorker(options: ProcessOptions): Promise<Spawned> {
  const { environment } = options;
  const script = 'dist/workers/main.js';
  const spawned = spawnNode({
    ...{ script, name: 'worker', environment, runFolder: started.runFolder },
    flags: WORKER_FLAGS,
  });
  const saysReady = async () => {
    if (!spawned.logs().includes('worker ready')) throw new Error('no "worker ready" in its log');
  };
  if (!options.startOnly) await untilReady(spawned, saysReady, READY_TIMEOUT_MS);
  return spawned;
}

function askForServices(socketPath: string): Promise<Services> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(socketPath);
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString();
    });
    socket.once('error', reject);
    socket.once('end', () => {
      const answer = JSON.parse(text) as { services: Services } | { problem: string };
      if ('problem' in answer) reject(new Error(`the test services did not start: ${answer.problem}`));
      else resolve(answer.services);
    });
  });
}
