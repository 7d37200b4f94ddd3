/** Real, durable parts for a benchmark in a temporary folder, and processes that use them. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { openPool } from '../infra/postgres/pool.ts';
import { openStorage, type Storage } from '../infra/s3/storage.ts';
import { registerNamespace } from '../test/harness/namespace.ts';
import { openParts, type Services } from '../test/harness/parts.ts';
import { apiPort, type Spawned, spawnNode, untilReady } from '../test/harness/spawn.ts';
import { type Checkout, openCheckout } from './checkout.ts';

export interface World {
  folder: string;
  /** Folder of the records of started processes. */
  runFolder: string;
  /** Variables for `npm run api` and `npm run worker`. */
  environment: Record<string, string>;
  start(kind: 'api' | 'worker', extra?: Record<string, string>): Promise<Spawned & { origin: string }>;
  /** Starts a script of bench/floor by its file name. */
  startFloor(name: string, extra?: Record<string, string>): Promise<Spawned & { origin: string }>;
  /**
   * Creates an account with more credit than any benchmark spends, and a key of each type. Processes that start later
   * do not limit its requests.
   */
  createPayer(): Promise<{ accountId: string; admin: string; inference: string }>;
  /** Creates another namespace on the same server, for a floor. */
  createNamespace(): Promise<string>;
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const UNLIMITED = { requestsPerMinute: 1_000_000_000, tokensPerMinute: 1_000_000_000 };

export async function openWorld(config: object): Promise<World> {
  const parts = await openParts({ durable: true });
  const world = await openWorldOn(parts.services, config, await openCheckout());
  return {
    ...world,
    async close() {
      await world.close();
      await parts.close();
    },
  };
}

/** Opens a world on shared parts. `services` names its own database, bucket and folder. */
export async function openWorldOn(
  services: Services & { bucket?: string },
  config: object,
  checkout: Checkout,
): Promise<World> {
  const environment = await environmentOf(services, checkout);
  const configPath = path.join(services.folder, 'farebox.config.json');
  const overrides: Record<string, typeof UNLIMITED> = {};
  const writeConfig = () => writeFileSync(configPath, JSON.stringify({ limits: { overrides }, ...config }));
  writeConfig();
  environment.FAREBOX_CONFIG = configPath;
  const spawned: Spawned[] = [];
  const place = { checkout, runFolder: services.runFolder };
  return {
    folder: services.folder,
    runFolder: services.runFolder,
    environment,
    async start(kind, extra) {
      const process = await startProcess(kind, place, { ...environment, ...extra });
      spawned.push(process);
      return process;
    },
    async startFloor(name, extra) {
      const process = await startFloor(name, services.runFolder, { ...environment, ...extra });
      spawned.push(process);
      return process;
    },
    async createPayer() {
      const payer = await createPayer(checkout, services.databaseUrl);
      overrides[payer.accountId] = UNLIMITED;
      writeConfig();
      return payer;
    },
    createNamespace: () => registerNamespace(services.temporal.address),
    async close() {
      await Promise.all(spawned.map((process) => process.stop(10_000)));
    },
  };
}

async function environmentOf(
  services: Services & { bucket?: string },
  checkout: Checkout,
): Promise<Record<string, string>> {
  const { s3, temporal, bucket = 'bench' } = services;
  await checkout.migrate(services.databaseUrl);
  const storage = openStorage({ ...s3, bucket });
  await storage.createBucket();
  storage.close();
  return {
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    FAREBOX_DATA: path.join(services.folder, 'data'),
    DATABASE_URL: services.databaseUrl,
    REDIS_URL: services.redisUrl,
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: await registerNamespace(temporal.address),
    FFMPEG_PATH: services.ffmpegPath,
    FFPROBE_PATH: services.ffprobePath,
    ESPEAK_PATH: services.espeakPath,
    POCKETSPHINX_PATH: services.recogniser.path,
    POCKETSPHINX_MODEL: services.recogniser.model,
  };
}

async function startProcess(
  kind: 'api' | 'worker',
  { checkout, runFolder }: { checkout: Checkout; runFolder: string },
  environment: Record<string, string>,
): Promise<Spawned & { origin: string }> {
  const port = String(await apiPort());
  const spawned = spawnNode({
    script: path.join(checkout.folder, kind === 'api' ? 'dist/api/main.js' : 'dist/workers/main.js'),
    name: kind,
    // A worker logs "ready" at level info. The API stays at warn, without a line per request.
    environment: { ...environment, PORT: port, ...(kind === 'worker' ? { LOG_LEVEL: 'info' } : {}) },
    runFolder,
    flags: kind === 'api' ? checkout.API_FLAGS : checkout.WORKER_FLAGS,
  });
  const origin = `http://127.0.0.1:${port}`;
  const ready = kind === 'api' ? () => answersReady(origin) : () => saysReady(spawned);
  await untilReady(spawned, ready, READY_TIMEOUT_MS);
  return { ...spawned, origin };
}

async function startFloor(
  name: string,
  runFolder: string,
  environment: Record<string, string>,
): Promise<Spawned & { origin: string }> {
  const port = String(await apiPort());
  const script = `dist/bench/floor/${name}.js`;
  const spawned = spawnNode({ script, name, environment: { ...environment, PORT: port }, runFolder });
  const ready = async () => {
    if (!spawned.logs().includes('floor ready')) throw new Error('not ready');
  };
  await untilReady(spawned, ready, READY_TIMEOUT_MS);
  return { ...spawned, origin: `http://127.0.0.1:${port}` };
}

/**
 * Pins all threads of the processes to the first core. Redis, which serves all processes of a deployment, and this
 * process, which makes the load, get the other cores if there are any.
 */
export async function pinToOneCore({ environment }: World, processes: Spawned[]): Promise<void> {
  const pin = (cores: string, pid: number) => promisify(execFile)('taskset', ['-a', '-c', '-p', cores, String(pid)]);
  for (const { pid } of processes) await pin('0', pid);
  const cores = availableParallelism();
  const redis = new Redis(environment.REDIS_URL ?? '');
  const pid = /process_id:(\d+)/.exec(await redis.info('server'))?.[1];
  redis.disconnect();
  if (cores === 1) return;
  for (const other of [Number(pid), process.pid]) await pin(`1-${cores - 1}`, other);
}

async function answersReady(origin: string): Promise<void> {
  const answer = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(5_000) });
  if (!answer.ok) throw new Error(`readyz: ${answer.status}`);
}

async function saysReady(spawned: Spawned): Promise<void> {
  if (!spawned.logs().includes('worker ready')) throw new Error('not ready');
}

async function createPayer(
  { createAccount, createKey, grant }: Checkout,
  databaseUrl: string,
): ReturnType<World['createPayer']> {
  const pool = openPool({ databaseUrl, applicationName: 'farebox-bench', max: 2 });
  try {
    const account = await createAccount(pool, { name: 'bench' });
    await grant(pool, {
      operationId: randomUUID(),
      accountId: account.id,
      currency: 'usd',
      amount: 10n ** 15n,
      notes: 'bench',
    });
    const key = (keyType: 'ADMIN' | 'INFERENCE') =>
      createKey(pool, { accountId: account.id, keyType, description: 'bench' });
    return {
      accountId: account.id,
      admin: (await key('ADMIN')).secret,
      inference: (await key('INFERENCE')).secret,
    };
  } finally {
    await pool.end();
  }
}

/** Writes a configuration file for processes that start later. Returns the variable that names it. */
export function configure({ folder }: World, config: object): { FAREBOX_CONFIG: string } {
  const file = path.join(folder, 'process.config.json');
  writeFileSync(file, JSON.stringify(config));
  return { FAREBOX_CONFIG: file };
}

export function storeOf({ environment }: World) {
  const value = (name: string) => environment[name] ?? '';
  return {
    endpoint: value('S3_ENDPOINT'),
    region: value('S3_REGION'),
    bucket: value('S3_BUCKET'),
    accessKeyId: value('S3_ACCESS_KEY_ID'),
    secretAccessKey: value('S3_SECRET_ACCESS_KEY'),
  };
}

export function storageOf(world: World): Storage {
  // Objects can have hundreds of megabytes.
  return openStorage({ ...storeOf(world), timeoutMs: 120_000 });
}

/** Runs one statement on its own connection. */
export async function query({ environment }: World, text: string, values: readonly unknown[]): Promise<void> {
  const databaseUrl = environment.DATABASE_URL ?? '';
  const pool = openPool({ databaseUrl, applicationName: 'farebox-bench', max: 1 });
  try {
    await pool.query(text, [...values]);
  } finally {
    await pool.end();
  }
}
