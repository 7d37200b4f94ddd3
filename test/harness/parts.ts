/** The real parts of one test run: throwaway, on free ports, in one temporary folder that goes with them. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { identify, isAlive, type ProcessIdentity } from '../../dev/launch/processIdentity.mjs';
import { locateParts } from '../../dev/stack/locate.ts';
import { OPTIONAL_PART_NAMES, PART_NAMES } from '../../dev/stack/part.ts';
import { createProgress } from '../../dev/stack/progress.ts';
import { recogniserModel } from '../../dev/stack/recipes/speech.ts';
import { killRecorded, stopOrphans } from '../../dev/stack/runRecords.ts';
import { startServers } from '../../dev/stack/startServers.ts';
import type { SupervisedProcess } from '../../dev/stack/supervise.ts';
import { processEnvironment } from '../../infra/config/environment.ts';
import { REDIS_DATABASES } from './limits.ts';
import { databaseOf, makeTemplate } from './template.ts';

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
  espeakPath: string;
  recogniser: { path: string; model: string };
  /** A folder for whatever a test writes; removed at the end of the run. */
  folder: string;
  /** Where processes that tests start are recorded. */
  runFolder: string;
}

export interface Parts {
  services: Services;
  close(): Promise<void>;
}

export interface PartsOptions {
  /** Postgres flushes to disk at each commit: for measurements. Tests kill processes, not the machine. */
  durable?: boolean;
}

const UNSAFE = { fsync: 'off', full_page_writes: 'off' };
const PREFIX = 'farebox-test-';
const SPAWNED = 'spawned';
const FILES = 'files';

export async function openParts(options: PartsOptions = {}): Promise<Parts> {
  await sweepDeadRuns();
  const folder = mkdtempSync(path.join(os.tmpdir(), PREFIX));
  writeFileSync(path.join(folder, 'owner.json'), JSON.stringify(identify(process.pid)));
  const started: SupervisedProcess[] = [];
  // For a run that ends before it could clean up: an error outside every test, a second Ctrl-C.
  const killAll = () => {
    for (const place of placesOf(folder)) killRecorded(place);
  };
  process.once('exit', killAll);
  const close = async () => {
    // First what tests left running, then what it runs on.
    for (const place of placesOf(folder).filter((each) => each !== folder)) await stopOrphans(place);
    await Promise.all(started.map((part) => part.stop()));
    process.off('exit', killAll);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { services: await startAll(folder, started, options), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Folders that may hold records of processes: of the run, of what tests spawned, and data folders that tests made. */
function placesOf(folder: string): string[] {
  const inside = (parent: string) =>
    readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(parent, entry.name));
  const files = path.join(folder, FILES);
  const made = existsSync(files) ? inside(files) : [];
  return [path.join(folder, SPAWNED), ...made, ...made.flatMap(inside), folder];
}

async function startAll(folder: string, started: SupervisedProcess[], options: PartsOptions): Promise<Services> {
  const progress = createProgress({ write: (text) => process.stderr.write(text), isTerminal: false });
  const names = [...PART_NAMES, ...OPTIONAL_PART_NAMES];
  const programs = await locateParts(names, { environment: processEnvironment(), progress });
  const { ffmpeg, ffprobe, espeak, pocketsphinx, ...servers } = programs;
  const { supervised, environment } = await startServers({
    folder,
    programs: servers,
    secrets: {
      postgresPassword: randomBytes(12).toString('hex'),
      redisPassword: randomBytes(12).toString('hex'),
      s3AccessKeyId: 'farebox-test',
      s3SecretAccessKey: randomBytes(12).toString('hex'),
    },
    postgresSettings: { max_connections: '500', ...(options.durable ? {} : UNSAFE) },
    redisDatabases: REDIS_DATABASES,
    region: 'us-east-1',
    withUi: false,
  });
  started.push(...supervised.values());
  const files = path.join(folder, FILES);
  mkdirSync(files);
  const value = (name: string) => environment[name] ?? '';
  const databaseUrl = databaseOf(value('DATABASE_URL'), 'postgres');
  return {
    databaseUrl,
    templateDatabase: await makeTemplate(databaseUrl),
    redisUrl: value('REDIS_URL'),
    s3: {
      endpoint: value('S3_ENDPOINT'),
      region: value('S3_REGION'),
      accessKeyId: value('S3_ACCESS_KEY_ID'),
      secretAccessKey: value('S3_SECRET_ACCESS_KEY'),
    },
    temporal: {
      address: value('TEMPORAL_ADDRESS'),
      namespace: 'default',
      binaryPath: programs.temporal.path,
    },
    ffmpegPath: ffmpeg.path,
    ffprobePath: ffprobe.path,
    espeakPath: espeak.path,
    recogniser: { path: pocketsphinx.path, model: recogniserModel(pocketsphinx.path) ?? '' },
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
    for (const place of placesOf(folder)) await stopOrphans(place);
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
