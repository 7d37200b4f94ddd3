/** Environment of the operator's command line: variables first, then the file of a running `npm start`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { type Environment, processEnvironment, readEnvironment } from './environment.ts';
import { ConfigError, describeProblems } from './problems.ts';

/** The part of `.farebox/dev.json` that another process needs to reach the same parts. */
const devFile = z.object({
  baseUrl: z.string(),
  accountId: z.string(),
  databaseUrl: z.string(),
  redisUrl: z.string(),
  temporal: z.object({ address: z.string(), namespace: z.string() }),
  s3: z.object({
    endpoint: z.string(),
    region: z.string(),
    bucket: z.string(),
    accessKeyId: z.string(),
    secretAccessKey: z.string(),
  }),
});

export interface OperatorEnvironment extends Environment {
  /** The account of the running `npm start`, when its addresses are used. */
  demoAccountId?: string;
}

/**
 * With `DATABASE_URL` set the variables alone count: they name another deployment. Without it the addresses in
 * `dev.json` of the data folder are used, if it is there. Throws ConfigError.
 */
export function readOperatorEnvironment(source: NodeJS.ProcessEnv = processEnvironment()): OperatorEnvironment {
  const environment = readEnvironment(source);
  if (environment.DATABASE_URL !== undefined) return environment;
  const dev = readDevFile(path.resolve(environment.FAREBOX_DATA, 'dev.json'));
  if (dev === undefined) return environment;
  const written = {
    DATABASE_URL: dev.databaseUrl,
    REDIS_URL: dev.redisUrl,
    TEMPORAL_ADDRESS: dev.temporal.address,
    TEMPORAL_NAMESPACE: dev.temporal.namespace,
    S3_ENDPOINT: dev.s3.endpoint,
    S3_REGION: dev.s3.region,
    S3_BUCKET: dev.s3.bucket,
    S3_ACCESS_KEY_ID: dev.s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: dev.s3.secretAccessKey,
  };
  // A variable of the operator has precedence, in either form.
  const unset = Object.entries(written).filter(([name]) => !source[`${name}_FILE`]?.trim());
  const found = readEnvironment({ ...Object.fromEntries(unset), ...definedOnly(source) });
  return { ...found, demoAccountId: dev.accountId };
}

function definedOnly(source: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value?.trim()));
}

function readDevFile(file: string): z.output<typeof devFile> | undefined {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new ConfigError(file, ['cannot be read; it is written by npm start and removed when it stops']);
  }
  const parsed = devFile.safeParse(content);
  if (!parsed.success) throw new ConfigError(file, describeProblems(parsed.error.issues, content));
  return parsed.data;
}
