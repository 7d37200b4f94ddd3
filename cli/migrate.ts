import type { Command } from 'commander';
import { requireVariables } from '../infra/config/environment.ts';
import { type OperatorEnvironment, readOperatorEnvironment } from '../infra/config/operator.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import { list, print } from './output.ts';
import { SEARCH_ATTRIBUTE_TYPES } from './searchAttributeTypes.ts';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring database, bucket and Temporal namespace to what this release needs; safe to repeat')
    .option('--json', 'print JSON')
    .action(run);
}

async function run(options: { json?: boolean }): Promise<void> {
  const environment = readOperatorEnvironment();
  requireVariables(environment, ['DATABASE_URL']);
  const { applied, functions } = await migrate(environment.DATABASE_URL);
  const answer = {
    migrations: applied,
    functions,
    bucket: await prepareBucket(environment),
    searchAttributes: await prepareTemporal(environment),
  };
  print(options, {
    json: answer,
    text: list({
      migrations: applied.length === 0 ? 'nothing to do' : applied.join(', '),
      functions: functions.length === 0 ? 'nothing to do' : `${functions.length} made or replaced`,
      bucket: answer.bucket ?? 'left alone: S3_ENDPOINT is not set',
      'search attributes': answer.searchAttributes?.join(', ') ?? 'left alone: TEMPORAL_ADDRESS is not set',
    }),
  });
}

async function prepareBucket(environment: OperatorEnvironment): Promise<string | null> {
  if (environment.S3_ENDPOINT === undefined) return null;
  requireVariables(environment, ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']);
  // Imported here so that the other commands start in half the time.
  const { openStorage } = await import('../infra/s3/storage.ts');
  const storage = openStorage({
    endpoint: environment.S3_ENDPOINT,
    region: environment.S3_REGION,
    bucket: environment.S3_BUCKET,
    accessKeyId: environment.S3_ACCESS_KEY_ID,
    secretAccessKey: environment.S3_SECRET_ACCESS_KEY,
  });
  try {
    await storage.createBucket();
    return environment.S3_BUCKET;
  } finally {
    storage.close();
  }
}

async function prepareTemporal(environment: OperatorEnvironment): Promise<string[] | null> {
  if (environment.TEMPORAL_ADDRESS === undefined) return null;
  const target = { address: environment.TEMPORAL_ADDRESS, namespace: environment.TEMPORAL_NAMESPACE };
  const { registerSearchAttributes } = await import('../infra/temporal/searchAttributes.ts');
  await registerSearchAttributes(target, SEARCH_ATTRIBUTE_TYPES);
  return Object.keys(SEARCH_ATTRIBUTE_TYPES);
}
