/** One api and one worker process on parts of their own, with an account that has money: what an acceptance test needs. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';
import type { KeyType } from '../../domain/caller.ts';
import { parseNano } from '../../domain/money.ts';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey, type NewKey } from '../../infra/postgres/keys.ts';
import { balanceOf, grant } from '../../infra/postgres/ledger.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { openStorage, type Storage } from '../../infra/s3/storage.ts';
import { createWorld, type Spawned, services, spawnApi, spawnWorker } from '../harness/services.ts';
import { type ApiClient, apiClient } from './client.ts';

export interface Account {
  id: string;
  /** Speaks with an INFERENCE key. */
  api: ApiClient;
  inferenceKey: string;
  adminKey: string;
}

export interface Deployment {
  environment: Record<string, string>;
  baseUrl: string;
  origin: string;
  pool: pg.Pool;
  storage: Storage;
  temporal: Client;
  /** 100 USD and 0.08 diem a day, so that a price of two minutes is split over both. */
  account: Account;
  other: Account;
  api: Spawned;
  worker: Spawned;
  /** Nano units, usd and diem together. */
  moneyOf(account: Account): Promise<bigint>;
  transfers(): Promise<number>;
  objects(): Promise<string[]>;
  /** Paths below the data folder's tmp. */
  temporaryFiles(): string[];
  openWorkflows(): Promise<string[]>;
  /** A workflow's whole history as text, payloads decoded. */
  historyOf(workflowId: string): Promise<string>;
  newKey(request: Omit<NewKey, 'accountId' | 'keyType'>): Promise<string>;
  /** A further API process on the same parts, with another configuration. */
  anotherApi(
    configuration: object,
    variables?: Record<string, string>,
  ): Promise<{ client: ApiClient; baseUrl: string; stop(): Promise<void> }>;
  /** A further worker on the same parts, with another configuration. */
  anotherWorker(configuration: object): Promise<Spawned>;
  close(): Promise<void>;
}

const PLENTY = 1_000_000_000;
const LIMITS = { requestsPerMinute: PLENTY, tokensPerMinute: PLENTY, failedPer30s: PLENTY };

export async function openDeployment(options: {
  configuration: object;
  /** Further environment variables, or others than the harness' parts. */
  variables?: Record<string, string>;
}): Promise<Deployment> {
  const world = await createWorld();
  const ids = [randomUUID(), randomUUID()] as const;
  const overrides = Object.fromEntries(ids.map((id) => [id, LIMITS]));
  const configure = (configuration: { limits?: object }) =>
    writeConfiguration({
      ...configuration,
      limits: { overrides, perAddressPerMinute: 1_000_000, ...configuration.limits },
    });
  const environment: Record<string, string> = {
    ...world.environment,
    ...options.variables,
    FAREBOX_CONFIG: configure(options.configuration),
  };
  const { DATABASE_URL = '' } = environment;
  const pool = openPool({ databaseUrl: DATABASE_URL, applicationName: 'acceptance', max: 4 });
  const [api, worker] = await Promise.all([spawnApi({ environment }), spawnWorker({ environment })]);
  const account = await openAccount(pool, { id: ids[0], baseUrl: api.baseUrl });
  const other = await openAccount(pool, { id: ids[1], baseUrl: api.baseUrl });
  const storage = openStorage({
    endpoint: environment.S3_ENDPOINT ?? '',
    region: environment.S3_REGION ?? '',
    bucket: environment.S3_BUCKET ?? '',
    accessKeyId: environment.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: environment.S3_SECRET_ACCESS_KEY ?? '',
  });
  const connection = await Connection.connect({ address: environment.TEMPORAL_ADDRESS ?? '' });
  const temporal = new Client({ connection, namespace: environment.TEMPORAL_NAMESPACE ?? '' });
  return {
    ...{ environment, pool, storage, temporal, account, other, api, worker },
    ...{ baseUrl: api.baseUrl, origin: api.origin },
    moneyOf: (whose) => moneyOf(pool, whose.id),
    transfers: async () => (await pool.query('select from transfers')).rowCount ?? 0,
    objects: async () => (await storage.list('')).objects.map(({ key }) => key),
    temporaryFiles: () => filesBelow(path.join(environment.FAREBOX_DATA ?? '', 'tmp')),
    openWorkflows: () => openWorkflows(temporal),
    historyOf: (workflowId) => historyOf(temporal, workflowId),
    newKey: async (request) =>
      (await createKey(pool, { ...request, accountId: account.id, keyType: 'INFERENCE' })).secret,
    async anotherApi(configuration, variables) {
      const further = { ...environment, ...variables, FAREBOX_CONFIG: configure(configuration) };
      const spawned = await spawnApi({ environment: further });
      const { baseUrl, stop } = spawned;
      return { baseUrl, client: apiClient(baseUrl, account.inferenceKey), stop: () => stop() };
    },
    anotherWorker: (configuration) =>
      spawnWorker({ environment: { ...environment, FAREBOX_CONFIG: configure(configuration) } }),
    async close() {
      await Promise.all([api.stop(), worker.stop(), connection.close(), pool.end()]);
      storage.close();
    },
  };
}

function writeConfiguration(configuration: object): string {
  const file = path.join(services().folder, `${randomUUID()}.config.json`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(configuration));
  return file;
}

async function openAccount(pool: pg.Pool, { id, baseUrl }: { id: string; baseUrl: string }): Promise<Account> {
  const nano = (text: string) => parseNano(text) ?? 0n;
  await createAccount(pool, { id, name: 'acceptance', diemDailyAllocation: nano('0.08') });
  const amount = nano('100');
  await grant(pool, {
    operationId: randomUUID(),
    accountId: id,
    currency: 'usd',
    amount,
    notes: 'acceptance',
  });
  const secretOf = async (keyType: KeyType) => (await createKey(pool, { accountId: id, keyType })).secret;
  const [inferenceKey, adminKey] = await Promise.all([secretOf('INFERENCE'), secretOf('ADMIN')]);
  return { id, inferenceKey, adminKey, api: apiClient(baseUrl, inferenceKey) };
}

async function moneyOf(pool: pg.Pool, accountId: string): Promise<bigint> {
  const balance = await balanceOf(pool, accountId);
  if (!balance) throw new Error('the account is gone');
  return balance.usd + balance.diem;
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true }).map(String);
  } catch {
    return [];
  }
}

/** Asked of the server's own store, not of its search index, which is a moment behind. */
async function openWorkflows(temporal: Client): Promise<string[]> {
  const found: string[] = [];
  const query = "WorkflowType = 'generation' and ExecutionStatus = 'Running'";
  for await (const { workflowId } of temporal.workflow.list({ query })) {
    const { status } = await temporal.workflow.getHandle(workflowId).describe();
    if (status.name === 'RUNNING') found.push(workflowId);
  }
  return found;
}

async function historyOf(temporal: Client, workflowId: string): Promise<string> {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  return JSON.stringify(events, (_name, value: unknown) =>
    value instanceof Uint8Array
      ? Buffer.from(value).toString('utf8')
      : typeof value === 'bigint'
        ? String(value)
        : value,
  );
}

/** Waits until `check` gives something; fails with the last state after `timeoutMs`. */
export async function eventually<T>(check: () => Promise<T | undefined>, timeoutMs = 180_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`nothing came within ${timeoutMs} ms`);
    await sleep(40);
  }
}
