/** Environment variables: the one place that reads `process.env`. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { TASK_QUEUES, type TaskQueue } from '../../domain/queues.ts';
import { ConfigError, describeProblems } from './problems.ts';
import { hostAndPort } from './schema/primitives.ts';

function urlOf(...protocols: string[]) {
  const isOne = (value: string) => URL.canParse(value) && protocols.includes(new URL(value).protocol);
  return z.string().refine(isOne, `a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
}

function isPort(value: string): boolean {
  return /^\d{1,5}$/.test(value) && Number(value) <= 65_535;
}

function isQueueList(value: string): boolean {
  const names = value.split(',').map((queue) => queue.trim());
  return names.length > 0 && names.every((queue) => (TASK_QUEUES as readonly string[]).includes(queue));
}

function readQueues(value: string): TaskQueue[] {
  const named = new Set(value.split(',').map((queue) => queue.trim()));
  return TASK_QUEUES.filter((queue) => named.has(queue));
}

function isSlotCount(value: string): boolean {
  return /^[1-9]\d{0,3}$/.test(value);
}

/** Concurrent steps of a queue in one worker process. */
const slots = z.string().refine(isSlotCount, 'a count from 1 to 9999').transform(Number).exactOptional();

const http = urlOf('http:', 'https:');

const DEFAULT_DATA_FOLDER = '.farebox';

const variables = z.object({
  PORT: z.string().refine(isPort, 'a port from 0 to 65535').transform(Number).default(8080),
  HOST: z.string().max(253).default('127.0.0.1'),
  FAREBOX_DATA: z.string().default(DEFAULT_DATA_FOLDER),
  FAREBOX_CONFIG: z.string().exactOptional(),
  /** A second file of that form, whose chains are added: `npm start -- --with-demo-chain` writes and names it. */
  FAREBOX_DEMO_CHAIN: z.string().exactOptional(),
  FAREBOX_PUBLIC_URL: http.exactOptional(),
  FAREBOX_WORKER_QUEUES: z
    .string()
    .refine(isQueueList, `one or more of ${TASK_QUEUES.join(', ')}, separated by commas`)
    .transform(readQueues)
    .default([...TASK_QUEUES]),
  FAREBOX_JOBS_SLOTS: slots,
  FAREBOX_MEDIA_SLOTS: slots,
  FAREBOX_PROVIDER_SLOTS: slots,
  /** Where a worker answers `GET /metrics`; 0 is any free port, unset is nowhere. */
  FAREBOX_METRICS_PORT: z.string().refine(isPort, 'a port from 0 to 65535').transform(Number).exactOptional(),
  /** Opens `GET /metrics` and the parts in `GET /readyz` to callers on other machines, as a bearer token. */
  FAREBOX_METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,200}$/, '16 to 200 printable ASCII characters without blanks')
    .exactOptional(),
  /** Time that an API process has to finish its requests when it is told to stop. */
  FAREBOX_DRAIN_SECONDS: z
    .string()
    .refine((value) => /^[1-9]\d{0,3}$/.test(value) && Number(value) <= 3_600, 'seconds from 1 to 3600')
    .transform(Number)
    .default(30),
  /** Worker versioning: the hash of the workflow bundle when unset. */
  FAREBOX_BUILD_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/, '1 to 64 letters, digits, ".", "_", "-"')
    .exactOptional(),
  /** Failpoints of the kill tests: see infra/failpoints.ts. */
  FAREBOX_TEST_POINT: z.string().max(200).exactOptional(),
  DATABASE_URL: urlOf('postgres:', 'postgresql:').exactOptional(),
  REDIS_URL: urlOf('redis:', 'rediss:').exactOptional(),
  S3_ENDPOINT: http.exactOptional(),
  S3_REGION: z.string().max(64).default('us-east-1'),
  S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'a bucket name of 3 to 63 lower-case letters, digits, ".", "-"')
    .exactOptional(),
  S3_ACCESS_KEY_ID: z.string().exactOptional(),
  S3_SECRET_ACCESS_KEY: z.string().exactOptional(),
  TEMPORAL_ADDRESS: hostAndPort.exactOptional(),
  TEMPORAL_NAMESPACE: z.string().max(200).default('default'),
  FFMPEG_PATH: z.string().default('ffmpeg'),
  FFPROBE_PATH: z.string().default('ffprobe'),
  /** Path of the speech synthesiser espeak-ng. Unset: models that speak with it are offline. */
  ESPEAK_PATH: z.string().exactOptional(),
  /** Path of the speech recogniser pocketsphinx_batch. Unset: models that use it are offline. */
  POCKETSPHINX_PATH: z.string().exactOptional(),
  /** Folder of its English model; default: that of Debian's package. */
  POCKETSPHINX_MODEL: z.string().default('/usr/share/pocketsphinx/model/en-us'),
  /** The local EVM chain of `npm start -- --with-demo-chain`; no process of the service runs it. */
  ANVIL_PATH: z.string().exactOptional(),
  /** Address of an Ollama to look for at the start, in the form of OLLAMA_HOST; `npm start` sets 127.0.0.1:11434. */
  OLLAMA_HOST: z.string().max(2048).exactOptional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: http.exactOptional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

export type Environment = z.output<typeof variables>;
export type VariableName = keyof Environment;

/** Every variable that a Farebox process reads. */
export const VARIABLE_NAMES = Object.keys(variables.shape) as VariableName[];

/** The variables without which neither the API nor a worker starts. */
export const REQUIRED_VARIABLES = [
  'DATABASE_URL',
  'REDIS_URL',
  'S3_ENDPOINT',
  'S3_BUCKET',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'TEMPORAL_ADDRESS',
] as const;
type RequiredVariable = (typeof REQUIRED_VARIABLES)[number];

/** Variables that hold a secret: each may be given as `NAME_FILE`, the path of a file with the value, instead. */
const SECRET_VARIABLES: readonly VariableName[] = [
  'DATABASE_URL',
  'REDIS_URL',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'FAREBOX_METRICS_TOKEN',
];
const MAX_SECRET_FILE_BYTES = 65_536;

export type CompleteEnvironment = Environment & Required<Pick<Environment, RequiredVariable>>;

/** The environment of this process, for the stack that hands it on to the parts it starts. */
export function processEnvironment(): NodeJS.ProcessEnv {
  return process.env;
}

/** The data folder of this process, for code that starts before the environment is checked. */
export function dataFolderPath(): string {
  return path.resolve(process.env.FAREBOX_DATA?.trim() || DEFAULT_DATA_FOLDER);
}

/** Configuration file in the working folder, used when no variable names another. */
export const DEFAULT_CONFIG_FILE = 'farebox.config.json';

/**
 * Every file of this process that may hold a secret: those that a variable `…_FILE` names, whoever reads them, and the
 * configuration, in which addresses of nodes may carry a key.
 */
export function secretFilePaths(): string[] {
  const { FAREBOX_CONFIG, FAREBOX_DEMO_CHAIN, ...rest } = process.env;
  const named = Object.entries(rest).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : []));
  return [FAREBOX_CONFIG?.trim() || DEFAULT_CONFIG_FILE, FAREBOX_DEMO_CHAIN, ...named].flatMap((file) =>
    file?.trim() ? [path.resolve(file.trim())] : [],
  );
}

/**
 * The value of a variable that holds a secret: of `name`, or the content of the file that `name_FILE` names, trimmed.
 * Undefined when neither is set. Throws ConfigError, without any value in it, when both are or the file cannot be read.
 */
function readSecret(source: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = source[name]?.trim();
  const file = source[`${name}_FILE`]?.trim();
  if (!file) return value || undefined;
  if (value) {
    throw new ConfigError('environment', [`${name} and ${name}_FILE are both set; allowed: one of them`]);
  }
  const content = readSecretFile(file).trim();
  if (content) return content;
  const wanted = `the path of a readable file of 1 to ${MAX_SECRET_FILE_BYTES} bytes`;
  throw new ConfigError('environment', [`${name}_FILE names no such file; allowed: ${wanted}`]);
}

function readSecretFile(file: string): string {
  try {
    return statSync(file).size <= MAX_SECRET_FILE_BYTES ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}

/** `readSecret` that reads each file once. */
export function secretReader(source: NodeJS.ProcessEnv): (name: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (name) => {
    if (!known.has(name)) known.set(name, readSecret(source, name));
    return known.get(name);
  };
}

/** Reads and checks the variables; an empty one counts as unset. Throws ConfigError naming each bad variable. */
export function readEnvironment(source: NodeJS.ProcessEnv): Environment {
  const read = (name: VariableName) =>
    SECRET_VARIABLES.includes(name) ? readSecret(source, name) : source[name]?.trim();
  const given = Object.fromEntries(
    VARIABLE_NAMES.map((name) => [name, read(name)] as const).filter(([, value]) => value),
  );
  const parsed = variables.safeParse(given);
  if (!parsed.success) throw new ConfigError('environment', describeProblems(parsed.error.issues, given));
  return parsed.data;
}

/** Throws ConfigError naming every one of `names` that is not set. */
export function requireVariables<Name extends VariableName>(
  environment: Environment,
  names: readonly Name[],
): asserts environment is Environment & Required<Pick<Environment, Name>> {
  const missing = names.filter((name) => environment[name] === undefined);
  if (missing.length === 0) return;
  throw new ConfigError(
    'environment',
    missing.map((name) => `${name} is not set; allowed: ${EXAMPLES[name] ?? 'a value'}`),
  );
}

const EXAMPLES: Partial<Record<VariableName, string>> = {
  DATABASE_URL: 'a URL such as postgres://user:password@host:5432/database',
  REDIS_URL: 'a URL such as redis://host:6379',
  S3_ENDPOINT: 'a URL such as https://s3.example.com',
  S3_BUCKET: 'the name of the bucket for media',
  S3_ACCESS_KEY_ID: 'the access key of the S3 service',
  S3_SECRET_ACCESS_KEY: 'the secret key of the S3 service',
  TEMPORAL_ADDRESS: 'host:port of the Temporal frontend, e.g. temporal:7233',
};
