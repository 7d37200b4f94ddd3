/** `farebox doctor`: checks that the service can run on this machine, and warns of unsafe settings. */
import { execFile } from 'node:child_process';
import type { Command } from 'commander';
import { type DecoderIsolation, decoderIsolation, isEnvironmentReadable } from '../engines/child/isolation.ts';
import { buildVersion } from '../infra/config/buildVersion.ts';
import { type OperatorEnvironment, readOperatorEnvironment } from '../infra/config/operator.ts';
import { readConfigurationFile } from '../infra/config/readFile.ts';
import { createLogger } from '../infra/log.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { errorLine } from './commandError.ts';
import { print, table } from './output.ts';

const STATES = ['ok', 'warning', 'problem'] as const;

interface Finding {
  what: string;
  /** `problem`: the service cannot run. `warning`: it runs, but something is unsafe or missing. */
  state: (typeof STATES)[number];
  detail: string;
}

const LIMIT_MS = 10_000;
const MAX_DETAIL_LENGTH = 200;

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'examine this machine, the parts and the settings; exits 1 when something keeps the service from running',
    )
    .option('--json', 'print JSON')
    .action(examine);
}

async function examine(options: { json?: boolean }): Promise<void> {
  const environment = readOperatorEnvironment();
  const findings = [
    versions(),
    ...(await Promise.all([
      ...partsOf(environment),
      program('ffmpeg', environment.FFMPEG_PATH, { required: true }),
      program('ffprobe', environment.FFPROBE_PATH, { required: true }),
      program('espeak-ng', environment.ESPEAK_PATH, { required: false }),
      program('pocketsphinx', environment.POCKETSPHINX_PATH, { required: false }),
    ])),
    configuration(environment),
    ...isolation(),
    ...settingsOf(environment),
  ];
  const ok = findings.every(({ state }) => state !== 'problem');
  print(options, {
    json: { ok, findings },
    text: table(
      findings.map((finding) => ({ ...finding })),
      '',
    ),
  });
  if (!ok) process.exitCode = 1;
}

function versions(): Finding {
  return {
    what: 'versions',
    state: 'ok',
    detail: `Farebox ${buildVersion()}, Node ${process.versions.node}`,
  };
}

/** A check resolves with what it found, and rejects with the problem. */
async function examined(what: string, check: () => Promise<string>): Promise<Finding> {
  let expiry: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    expiry = setTimeout(() => reject(new Error(`no answer in ${LIMIT_MS / 1_000} s`)), LIMIT_MS);
  });
  try {
    return { what, state: 'ok', detail: await Promise.race([check(), late]) };
  } catch (error) {
    return { what, state: 'problem', detail: errorLine(error).slice(0, MAX_DETAIL_LENGTH) };
  } finally {
    clearTimeout(expiry);
  }
}

function partsOf(environment: OperatorEnvironment): Promise<Finding>[] {
  return [
    examined('postgres', () => postgres(environment)),
    examined('redis', () => redis(environment)),
    examined('s3', () => objectStore(environment)),
    examined('temporal', () => temporal(environment)),
  ];
}

async function postgres({ DATABASE_URL }: OperatorEnvironment): Promise<string> {
  const pool = openPool({
    databaseUrl: named('DATABASE_URL', DATABASE_URL),
    applicationName: 'farebox-cli',
    max: 1,
  });
  try {
    const { rows } = await pool.query<{ version: string; migrated: boolean }>(
      `select current_setting('server_version') as version, to_regclass('accounts') is not null as migrated`,
    );
    if (!rows[0]?.migrated) throw new Error('has no Farebox tables: run `farebox migrate`');
    return `Postgres ${rows[0].version}`;
  } finally {
    await pool.end();
  }
}

async function redis({ REDIS_URL }: OperatorEnvironment): Promise<string> {
  const url = named('REDIS_URL', REDIS_URL);
  // Imported here so that the other commands start in half the time.
  const { openRedis, pingRedis } = await import('../infra/redis/connect.ts');
  const client = openRedis(url, createLogger({ level: 'silent', name: 'cli' }));
  try {
    await pingRedis(client, LIMIT_MS);
    const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'of unknown version';
    return `Redis ${version}`;
  } finally {
    client.disconnect();
  }
}

async function objectStore(environment: OperatorEnvironment): Promise<string> {
  const { openStorage } = await import('../infra/s3/storage.ts');
  const bucket = named('S3_BUCKET', environment.S3_BUCKET);
  const storage = openStorage({
    bucket,
    endpoint: named('S3_ENDPOINT', environment.S3_ENDPOINT),
    region: environment.S3_REGION,
    accessKeyId: named('S3_ACCESS_KEY_ID', environment.S3_ACCESS_KEY_ID),
    secretAccessKey: named('S3_SECRET_ACCESS_KEY', environment.S3_SECRET_ACCESS_KEY),
  });
  try {
    await storage.ready();
    return `bucket ${bucket} answers`;
  } finally {
    storage.close();
  }
}

async function temporal({ TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE: namespace }: OperatorEnvironment): Promise<string> {
  const address = named('TEMPORAL_ADDRESS', TEMPORAL_ADDRESS);
  const { openTemporal } = await import('../infra/temporal/connect.ts');
  const opened = openTemporal({ address, namespace, retries: 'none' });
  try {
    await opened.ready(LIMIT_MS);
    return `namespace ${namespace} answers`;
  } finally {
    await opened.close();
  }
}

function named(name: string, value: string | undefined): string {
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

function program(what: string, path: string | undefined, { required }: { required: boolean }): Promise<Finding> {
  if (path === undefined) {
    const detail = 'not set: models that need it are offline';
    return Promise.resolve({ what, state: 'warning', detail });
  }
  return new Promise((resolve) => {
    execFile(path, ['-version'], { timeout: LIMIT_MS, maxBuffer: 1_000_000 }, (error, stdout, stderr) => {
      const couldStart = error === null || typeof error.code === 'number';
      const detail = (stdout || stderr).trim().split('\n')[0]?.slice(0, MAX_DETAIL_LENGTH) || path;
      if (couldStart) resolve({ what, state: 'ok', detail });
      else resolve({ what, state: required ? 'problem' : 'warning', detail: `${path}: ${error.code}` });
    });
  });
}

function configuration({ FAREBOX_CONFIG }: OperatorEnvironment): Finding {
  const what = 'configuration';
  try {
    readConfigurationFile(PROVIDERS, FAREBOX_CONFIG);
    return { what, state: 'ok', detail: 'valid' };
  } catch (error) {
    return { what, state: 'problem', detail: errorLine(error).slice(0, MAX_DETAIL_LENGTH) };
  }
}

function isolation(): Finding[] {
  const { level, description, reason } = decoderIsolation();
  const decoders = { what: 'decoders', detail: reason ? `${description}: ${reason}` : description };
  return [{ ...decoders, state: level === 'full' ? 'ok' : 'warning' }, environmentOf(level)];
}

/** Decoders that run in their own namespaces can never read it. */
function environmentOf(level: DecoderIsolation['level']): Finding {
  const what = 'environment';
  if (!isEnvironmentReadable()) {
    return { what, state: 'ok', detail: 'no other process of this user can read the variables of a process' };
  }
  const detail = 'other processes of this user can read the variables of a process';
  if (level !== 'none') return { what, state: 'ok', detail: `${detail}; decoders cannot` };
  return {
    what,
    state: 'warning',
    detail: `${detail}: make ${process.execPath} unreadable for it (mode 0711)`,
  };
}

function settingsOf({ HOST, FAREBOX_PUBLIC_URL, FAREBOX_METRICS_TOKEN }: OperatorEnvironment): Finding[] {
  if (/^(127\.|::1$|localhost$)/.test(HOST)) return [];
  const findings: Finding[] = [];
  if (FAREBOX_PUBLIC_URL === undefined) {
    const detail = `not set although HOST is ${HOST}: download links and webhooks name an address of this machine`;
    findings.push({ what: 'FAREBOX_PUBLIC_URL', state: 'warning', detail });
  }
  if (FAREBOX_METRICS_TOKEN === undefined) {
    const detail = 'not set: GET /metrics answers callers on this machine only';
    findings.push({ what: 'FAREBOX_METRICS_TOKEN', state: 'warning', detail });
  }
  return findings;
}
