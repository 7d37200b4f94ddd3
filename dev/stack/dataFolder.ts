/** Data folder of `npm start`: checks its owner and format, and locks it for one supervisor. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { tryLock } from '../launch/lock.mjs';
import { readJson, writeJson } from './jsonFile.ts';
import type { ServerSecrets } from './startServers.ts';

/** Increased when older releases would misread the folder. */
export const DATA_FORMAT = 2;
/** Oldest format that this release reads: format 1 had another database layout. */
const MIN_FORMAT = 2;

const LOCK = 'supervisor.lock';

/** Work folders of a process that ran before the first `npm start`. */
const WORK_FOLDERS = 'tmp';

export class DataFolderError extends Error {
  override name = 'DataFolderError';
}

/** Another supervisor uses the folder. `baseUrl` is the address of its service. */
export class AlreadyRunning extends Error {
  override name = 'AlreadyRunning';
  readonly pid: number;
  readonly baseUrl: string;

  constructor(holder: { pid: number; baseUrl: string }) {
    super(`already running at ${holder.baseUrl} (process ${holder.pid})`);
    this.pid = holder.pid;
    this.baseUrl = holder.baseUrl;
  }
}

export interface DataFolder {
  path: string;
  secrets: ServerSecrets;
  /** Major version of Postgres that wrote the cluster. Undefined without a cluster. */
  postgresMajor?: number;
  /** Releases the lock. */
  release(): void;
}

/** Creates the folder if missing. Throws DataFolderError or AlreadyRunning. */
export function openDataFolder(folder: string, baseUrl: string): DataFolder {
  prepare(folder);
  checkFormat(folder);
  const lock = path.join(folder, LOCK);
  const holder = tryLock(lock, { baseUrl });
  if (holder !== undefined) throw new AlreadyRunning({ pid: holder.pid, baseUrl: holder.baseUrl ?? 'unknown' });
  writeJson(path.join(folder, 'format.json'), { format: DATA_FORMAT });
  const postgresMajor = majorOf(path.join(folder, 'postgres', 'data', 'PG_VERSION'));
  return {
    path: folder,
    secrets: secretsOf(folder),
    ...(postgresMajor !== undefined && { postgresMajor }),
    release: () => rmSync(lock, { force: true }),
  };
}

function prepare(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid } = statSync(folder);
    const me = process.getuid?.() ?? uid;
    if (uid !== me && me !== 0) throw new Error(`it belongs to user ${uid}, this is user ${me}`);
  } catch (error) {
    throw new DataFolderError(
      `the data folder ${folder} cannot be used: ${(error as Error).message}; FAREBOX_DATA names another`,
    );
  }
}

function checkFormat(folder: string): void {
  const written = readJson<{ format?: unknown }>(path.join(folder, 'format.json'))?.format;
  if (written === undefined) {
    // Only the lock of a start that was killed at its beginning, or is there now.
    if (readdirSync(folder).every((name) => name.startsWith(LOCK) || name === WORK_FOLDERS)) return;
    throw new DataFolderError(
      `${folder} is not empty and not a data folder of Farebox: name another one by FAREBOX_DATA`,
    );
  }
  if (typeof written === 'number' && written >= MIN_FORMAT && written <= DATA_FORMAT) return;
  if (typeof written === 'number' && written < MIN_FORMAT) {
    throw new DataFolderError(
      `the data folder ${folder} was written by an older Farebox (its format is ${written}), and this release cannot take ` +
        'it over: name another folder by FAREBOX_DATA, or remove this one',
    );
  }
  throw new DataFolderError(
    `the data folder ${folder} was written by a newer Farebox (its format is ${String(written)}, this release knows ` +
      `up to ${DATA_FORMAT}): start the newer release, or name another folder by FAREBOX_DATA`,
  );
}

function majorOf(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10);
  } catch {
    return undefined;
  }
}

/** Adds secrets that folders of older releases lack. */
function secretsOf(folder: string): ServerSecrets {
  const file = path.join(folder, 'secrets.json');
  const random = () => randomBytes(18).toString('hex');
  const known = readJson<Partial<ServerSecrets>>(file);
  const secrets = {
    postgresPassword: random(),
    redisPassword: random(),
    s3AccessKeyId: 'farebox',
    s3SecretAccessKey: random(),
    ...known,
  };
  if (known?.redisPassword === undefined) writeJson(file, secrets);
  return secrets;
}
