/** Chooses the servers to start, and builds the environment that all processes share. */
import path from 'node:path';
import { type Environment, readEnvironment, requireVariables } from '../../infra/config/environment.ts';
import { DEFAULT_OLLAMA } from '../../infra/config/ollamaAddress.ts';
import type { DataFolder } from './dataFolder.ts';
import { type LocateOptions, locateParts, PartMissing, type Programs } from './locate.ts';
import { OPTIONAL_PART_NAMES, type OptionalPartName, type PartName } from './part.ts';
import { recogniserModel } from './recipes/speech.ts';
import { SERVER_NAMES, type ServerName } from './startServers.ts';

/** Variables that name an external server, which is then not started here. */
const NAMED_BY: Record<ServerName, keyof Environment> = {
  postgres: 'DATABASE_URL',
  redis: 'REDIS_URL',
  s3: 'S3_ENDPOINT',
  temporal: 'TEMPORAL_ADDRESS',
};

const BUCKET = 'farebox';

/** Servers that no variable names. Throws ConfigError when an S3 service is named without its keys. */
export function serversToStart(environment: Environment): ServerName[] {
  if (environment.S3_ENDPOINT !== undefined) {
    requireVariables(environment, ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']);
  }
  return SERVER_NAMES.filter((name) => environment[NAMED_BY[name]] === undefined);
}

/** Programs to run on this machine, without optional parts that cannot be obtained. */
export type FoundPrograms = Programs<PartName> & Partial<Programs<OptionalPartName>>;

/** Finds or obtains the programs. Throws PartMissing. */
export async function findPrograms(
  servers: readonly ServerName[],
  folder: DataFolder,
  options: LocateOptions,
): Promise<FoundPrograms> {
  const { postgresMajor } = folder;
  const names: PartName[] = [...servers, 'ffmpeg', 'ffprobe'];
  const all = await locateParts(names, { ...options, ...(postgresMajor !== undefined && { postgresMajor }) });
  const extras = await Promise.all(OPTIONAL_PART_NAMES.map((name) => findOptional(name, options)));
  return Object.assign(all, ...extras);
}

/** Throws PartMissing only for a program that the operator named: an explicit choice must not be ignored. */
async function findOptional(
  name: OptionalPartName,
  options: LocateOptions,
): Promise<Partial<Programs<OptionalPartName>>> {
  try {
    return await locateParts([name], options);
  } catch (error) {
    const isNamed = options.environment[OPTIONAL_VARIABLES[name]];
    if (!(error instanceof PartMissing) || isNamed) throw error;
    options.progress.say(`${error.message}\nUntil then the models that need it are offline; all else works.`);
    return {};
  }
}

const OPTIONAL_VARIABLES: Record<OptionalPartName, keyof Environment> = {
  espeak: 'ESPEAK_PATH',
  pocketsphinx: 'POCKETSPHINX_PATH',
};

export interface DeploymentOptions {
  /** Environment of the operator, passed on with provider secrets and everything else. */
  given: NodeJS.ProcessEnv;
  programs: FoundPrograms;
  dataFolder: string;
  port: number;
  /** Variables with the addresses of the servers started here. */
  started: Record<string, string>;
}

/** Complete, validated environment of the API and the workers. */
export function deploymentEnvironment(options: DeploymentOptions): NodeJS.ProcessEnv & Record<string, string> {
  const { given, programs, started } = options;
  const config = given.FAREBOX_CONFIG && { FAREBOX_CONFIG: path.resolve(given.FAREBOX_CONFIG) };
  const environment = readEnvironment(given);
  return {
    ...definedOnly(given),
    ...config,
    HOST: environment.HOST,
    PORT: String(options.port),
    FAREBOX_DATA: options.dataFolder,
    TEMPORAL_NAMESPACE: environment.TEMPORAL_NAMESPACE,
    S3_REGION: environment.S3_REGION,
    S3_BUCKET: environment.S3_BUCKET ?? BUCKET,
    OLLAMA_HOST: environment.OLLAMA_HOST ?? DEFAULT_OLLAMA,
    FFMPEG_PATH: programs.ffmpeg.path,
    FFPROBE_PATH: programs.ffprobe.path,
    ...(programs.espeak && { ESPEAK_PATH: programs.espeak.path }),
    ...recogniserVariables(programs, given.POCKETSPHINX_MODEL),
    ...started,
  };
}

function recogniserVariables({ pocketsphinx }: FoundPrograms, named: string | undefined) {
  if (pocketsphinx === undefined) return {};
  const model = recogniserModel(pocketsphinx.path, named);
  return { POCKETSPHINX_PATH: pocketsphinx.path, ...(model && { POCKETSPHINX_MODEL: model }) };
}

function definedOnly(source: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(source).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
}
