/** Starts the servers concurrently on free ports of this machine, and returns their addresses. */
import path from 'node:path';
import { freePorts } from './freePorts.ts';
import type { Programs } from './locate.ts';
import type { PartProcess } from './part.ts';
import { objectStoreProcess } from './parts/objectStore.ts';
import { ensureDatabase, postgresUrl, preparePostgres } from './parts/postgres.ts';
import { redisProcess, redisUrl } from './parts/redis.ts';
import { temporalProcess } from './parts/temporal.ts';
import { type SupervisedProcess, type SuperviseOptions, supervise } from './supervise.ts';

export const SERVER_NAMES = ['postgres', 'redis', 's3', 'temporal'] as const;
export type ServerName = (typeof SERVER_NAMES)[number];

export interface ServerSecrets {
  postgresPassword: string;
  redisPassword: string;
  s3AccessKeyId: string;
  s3SecretAccessKey: string;
}

export interface ServersOptions {
  /** Parent folder: each server's data is in a subfolder of its name. */
  folder: string;
  programs: Partial<Programs<ServerName>>;
  secrets: ServerSecrets;
  supervision?: SuperviseOptions;
  /** Settings for temporary servers. */
  postgresSettings?: Record<string, string>;
  redisDatabases?: number;
  region: string;
  withUi: boolean;
}

export interface Servers {
  supervised: Map<ServerName, SupervisedProcess>;
  /** Variables (DATABASE_URL and so on) with the addresses of the servers. */
  environment: Record<string, string>;
  temporalUiUrl?: string;
}

const DATABASE = 'farebox';
const HOST = '127.0.0.1';

interface Start extends ServersOptions {
  ports: Record<ServerName | 'ui', number>;
}

/** Starts the servers in `programs`. If one fails, stops the others and throws. */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const [postgres = 0, redis = 0, s3 = 0, temporal = 0, ui = 0] = await freePorts(5);
  const start: Start = { ...options, ports: { postgres, redis, s3, temporal, ui } };
  const names = SERVER_NAMES.filter((name) => options.programs[name] !== undefined);
  const supervised = new Map<ServerName, SupervisedProcess>();
  const results = await Promise.allSettled(
    names.map(async (name) => {
      const process = await PROCESSES[name](start);
      if (process === undefined) return;
      supervised.set(name, await supervise(process, options.supervision ?? { folder: options.folder }));
      if (name === 'postgres') await ensureDatabase(urlOf(start, 'postgres'), DATABASE);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) {
    await Promise.all([...supervised.values()].map((part) => part.stop()));
    throw failed.reason;
  }
  const environment = Object.assign({}, ...names.map((name) => addressOf(name, start)));
  const temporalUiUrl = options.withUi && names.includes('temporal') ? `http://${HOST}:${ui}` : undefined;
  return { supervised, environment, ...(temporalUiUrl && { temporalUiUrl }) };
}

const PROCESSES: Record<ServerName, (start: Start) => Promise<PartProcess | undefined>> = {
  async postgres({ folder, programs: { postgres }, ports, secrets, postgresSettings }) {
    if (postgres === undefined) return undefined;
    return await preparePostgres({
      program: postgres,
      folder: path.join(folder, 'postgres'),
      port: ports.postgres,
      password: secrets.postgresPassword,
      ...(postgresSettings && { settings: postgresSettings }),
    });
  },
  async redis({ folder, programs: { redis }, ports, secrets, redisDatabases }) {
    if (redis === undefined) return undefined;
    const databases = redisDatabases === undefined ? {} : { databases: redisDatabases };
    return redisProcess({
      program: redis,
      folder: path.join(folder, 'redis'),
      port: ports.redis,
      password: secrets.redisPassword,
      ...databases,
    });
  },
  async s3({ folder, programs: { s3 }, ports, secrets, region }) {
    if (s3 === undefined) return undefined;
    const { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = secrets;
    const access = { accessKeyId, secretAccessKey, region };
    return objectStoreProcess({ program: s3, folder: path.join(folder, 's3'), port: ports.s3, ...access });
  },
  async temporal({ folder, programs: { temporal }, ports, withUi }) {
    if (temporal === undefined) return undefined;
    const ui = withUi ? { uiPort: ports.ui } : {};
    const at = { folder: path.join(folder, 'temporal'), port: ports.temporal };
    return temporalProcess({ program: temporal, ...at, ...ui });
  },
};

function urlOf({ ports, secrets }: Start, database: string): string {
  return postgresUrl({ port: ports.postgres, password: secrets.postgresPassword, database });
}

function addressOf(name: ServerName, start: Start): Record<string, string> {
  const { ports, secrets, region } = start;
  if (name === 'postgres') return { DATABASE_URL: urlOf(start, DATABASE) };
  if (name === 'redis') {
    return { REDIS_URL: redisUrl({ port: ports.redis, password: secrets.redisPassword }) };
  }
  if (name === 'temporal') return { TEMPORAL_ADDRESS: `${HOST}:${ports.temporal}` };
  return {
    S3_ENDPOINT: `http://${HOST}:${ports.s3}`,
    S3_REGION: region,
    S3_ACCESS_KEY_ID: secrets.s3AccessKeyId,
    S3_SECRET_ACCESS_KEY: secrets.s3SecretAccessKey,
  };
}
