/** The real parts of one test run: throwaway, on free ports, in one temporary folder that goes with them. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { processEnvironment } from '../../infra/config/environment.ts';
import { freePorts } from '../../infra/stack/freePorts.ts';
import { identify, isAlive, type ProcessIdentity } from '../../infra/launch/processIdentity.mjs';
import { locate } from '../../infra/stack/locate.ts';
import type { PartName, PartProcess } from '../../infra/stack/part.ts';
import { objectStoreProcess } from '../../infra/stack/parts/objectStore.ts';
import { postgresUrl, preparePostgres } from '../../infra/stack/parts/postgres.ts';
import { redisProcess } from '../../infra/stack/parts/redis.ts';
import { temporalProcess } from '../../infra/stack/parts/temporal.ts';
import { stopOrphans } from '../../infra/stack/runRecords.ts';
import { type Supervised, supervise } from '../../infra/stack/supervise.ts';
import { REDIS_DATABASES } from './limits.ts';
import { makeTemplate } from './template.ts';

export interface Services {
  /** Of the superuser of a throwaway Postgres; tests take databases of their own with `createDatabase`. */
  databaseUrl: string;
  /** A migrated database that `createDatabase` copies. */
  templateDatabase: string;
  redisUrl: string;
  s3: { endpoint: string; region: string; accessKeyId: string; secretAccessKey: string };
  temporal: { address: string; namespace: string; binaryPath: string };
  ffmpegPath: string;
  ffprobePath: string;
  /** A folder for whatever a test writes; removed at the end of the run. */
  folder: string;
  /** Where processes that tests start are recorded. */
  runFolder: string;
}

export interface Parts {
  services: Services;
  close(): Promise<void>;
}

const PREFIX = 'farebox-test-';
const SPAWNED = 'spawned';

export async function openParts(): Promise<Parts> {
  await sweepDeadRuns();
  const folder = mkdtempSync(path.join(os.tmpdir(), PREFIX));
  writeFileSync(path.join(folder, 'owner.json'), JSON.stringify(identify(process.pid)));
  const started: Supervised[] = [];
  const killAll = () => {
    for (const part of started) killNow(part.pid());
  };
  process.once('exit', killAll);
  const close = async () => {
    // First what tests left running, then what it runs on.
    await stopOrphans(path.join(folder, SPAWNED));
    await Promise.all(started.map((part) => part.stop()));
    process.off('exit', killAll);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { services: await startAll(folder, started), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startAll(folder: string, started: Supervised[]): Promise<Services> {
  const environment = processEnvironment();
  const find = (name: PartName) => locate(name, environment);
  const [postgres = 0, redis = 0, s3 = 0, temporal = 0] = await freePorts(4);
  const secret = randomBytes(12).toString('hex');
  const [ffmpeg, ffprobe, temporalCli] = await Promise.all([
    find('ffmpeg'),
    find('ffprobe'),
    find('temporal'),
  ]);
  const s3Access = { accessKeyId: 'farebox-test', secretAccessKey: secret, region: 'us-east-1' };
  const databaseUrl = postgresUrl({ port: postgres, password: secret, database: 'postgres' });
  const start = async (part: PartProcess) => {
    started.push(await supervise(part, { folder }));
  };
  const startPostgres = async () => {
    await start(
      await preparePostgres({
        program: await find('postgres'),
        folder: path.join(folder, 'postgres'),
        port: postgres,
        password: secret,
        // Tests kill processes, not the machine: what the kernel has is safe.
        settings: { fsync: 'off', full_page_writes: 'off', max_connections: '500' },
      }),
    );
    return makeTemplate(databaseUrl);
  };
  const [templateDatabase] = await Promise.all([
    startPostgres(),
    find('redis').then((program) =>
      start(
        redisProcess({
          program,
          folder: path.join(folder, 'redis'),
          port: redis,
          databases: REDIS_DATABASES,
        }),
      ),
    ),
    find('s3').then((program) =>
      start(objectStoreProcess({ program, folder: path.join(folder, 's3'), port: s3, ...s3Access })),
    ),
    start(temporalProcess({ program: temporalCli, folder: path.join(folder, 'temporal'), port: temporal })),
  ]);
  const files = path.join(folder, 'files');
  mkdirSync(files);
  return {
    databaseUrl,
    templateDatabase,
    redisUrl: `redis://127.0.0.1:${redis}`,
    s3: { endpoint: `http://127.0.0.1:${s3}`, ...s3Access },
    temporal: { address: `127.0.0.1:${temporal}`, namespace: 'default', binaryPath: temporalCli.path },
    ffmpegPath: ffmpeg.path,
    ffprobePath: ffprobe.path,
    folder: files,
    runFolder: path.join(folder, SPAWNED),
  };
}

/** What a killed test run left behind, processes and files, goes with the next run. */
async function sweepDeadRuns(): Promise<void> {
  for (const name of readdirSync(os.tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = path.join(os.tmpdir(), name);
    const owner = readOwner(folder);
    if (owner === undefined || isAlive(owner)) continue;
    await stopOrphans(path.join(folder, SPAWNED));
    await stopOrphans(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOwner(folder: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path.join(folder, 'owner.json'), 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

function killNow(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Already gone.
  }
}
