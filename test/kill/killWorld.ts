/** One API and one worker on a database, bucket and namespace of their own. A test can arm, kill and restart each. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { openPool } from '../../infra/postgres/pool.ts';
import { openStorage, type Storage } from '../../infra/s3/storage.ts';
import { openTemporal, type Temporal } from '../../infra/temporal/connect.ts';
import { createWorld, type Spawned, services, spawnApi, spawnWorker } from '../harness/services.ts';
import { apiPort } from '../harness/spawn.ts';
import { ledgerCheck, sweepOrphans } from './operator.ts';
import { createPayer, type Payer, type PayerOptions } from './payer.ts';

/** A process that can be killed and restarted at the same address. */
export interface Part {
  /** Arms failpoints in the current process. */
  arm(specification: string): void;
  hasFired(specification: string): boolean;
  pid(): number;
  /** Resolves when the current process has ended. */
  death(): Spawned['exit'];
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  respawn(): Promise<void>;
  logs(): string;
}

export interface KillWorld {
  environment: Record<string, string>;
  api: Part;
  worker: Part;
  pool: pg.Pool;
  storage: Storage;
  temporal: Temporal;
  baseUrl: string;
  createPayer(options?: PayerOptions): Promise<Payer>;
  /** Runs the upkeep sweep in the worker with a short grace. Returns the number of removed objects. */
  sweep(orphanGraceMs?: number): Promise<number>;
  /** Another worker on the same queues. */
  spawnWorker(): Promise<Spawned>;
  /** Another worker with failpoints on the same queues. `variables` may give it another version. */
  openWorker(variables?: Record<string, string>): Promise<Part>;
  /** Runs the operator's command. Returns its exit code and output. */
  ledgerCheck(): Promise<{ code: number; text: string }>;
  close(): Promise<void>;
}

/** `variables` are added to the environment of every process. */
export async function openKillWorld(config: object, variables: Record<string, string> = {}): Promise<KillWorld> {
  const { environment } = await createWorld();
  const file = path.join(services().folder, `kill-${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(config));
  const port = String(await apiPort());
  Object.assign(environment, { FAREBOX_CONFIG: file, PORT: port, LOG_LEVEL: 'info' }, variables);
  const value = (name: string) => environment[name] ?? '';
  const pool = openPool({ databaseUrl: value('DATABASE_URL'), applicationName: 'kill-test', max: 3 });
  const storage = openStorage({
    endpoint: value('S3_ENDPOINT'),
    region: value('S3_REGION'),
    bucket: value('S3_BUCKET'),
    accessKeyId: value('S3_ACCESS_KEY_ID'),
    secretAccessKey: value('S3_SECRET_ACCESS_KEY'),
  });
  const temporal = openTemporal({
    address: value('TEMPORAL_ADDRESS'),
    namespace: value('TEMPORAL_NAMESPACE'),
  });
  const api = await openPart(environment, spawnApi);
  const worker = await openPart(environment, spawnWorker);
  return {
    environment,
    api,
    worker,
    pool,
    storage,
    temporal,
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    createPayer: (options) => createPayer(pool, options),
    sweep: (graceMs = 1) => sweepOrphans({ temporal, storage }, { id: randomUUID(), graceMs }),
    spawnWorker: () => spawnWorker({ environment }),
    openWorker: (variables) => openPart({ ...environment, ...variables }, spawnWorker),
    ledgerCheck: () => ledgerCheck(value('DATABASE_URL')),
    async close() {
      await Promise.all([api.kill(), worker.kill()]);
      storage.close();
      await Promise.all([pool.end(), temporal.close()]);
    },
  };
}

type Spawn = (options: { environment: Record<string, string> }) => Promise<Spawned>;

async function openPart(environment: Record<string, string>, spawn: Spawn): Promise<Part> {
  let file = '';
  const start = async () => {
    // Each process has its own file, so a restarted one is not armed with the failpoint that killed it.
    file = path.join(services().folder, `point-${randomUUID().slice(0, 8)}`);
    writeFileSync(file, '');
    return await spawn({ environment: { ...environment, FAREBOX_TEST_POINT: `@${file}` } });
  };
  let current = await start();
  return {
    arm: (specification) => writeFileSync(file, specification),
    hasFired: (specification) => firedIn(file).includes(specification),
    pid: () => current.pid,
    death: () => current.exit,
    async kill() {
      current.kill('SIGKILL');
      await current.exit;
    },
    signal: (signal) => current.kill(signal),
    async respawn() {
      current = await start();
    },
    logs: () => current.logs(),
  };
}

function firedIn(file: string): string[] {
  const fired = `${file}.fired`;
  return existsSync(fired) ? readFileSync(fired, 'utf8').split('\n') : [];
}
