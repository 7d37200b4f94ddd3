/** Starts a whole API in this process with real parts, and a test's own routes beside the shipped ones. */
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from '../../api/app.ts';
import { createReadiness, type HealthCheck } from '../../api/http/health.ts';
import type { Route } from '../../api/http/route.ts';
import { type OpenedDependencies, openDependencies } from '../../api/openDependencies.ts';
import { ROUTES } from '../../api/routes.ts';
import { drain } from '../../api/server/drain.ts';
import { createInFlight, type InFlight } from '../../api/server/inFlight.ts';
import { listen } from '../../api/server/listen.ts';
import { TurnGuard } from '../../api/server/turnGuard.ts';
import type { KeyType } from '../../domain/caller.ts';
import { type Config, loadConfig } from '../../infra/config/config.ts';
import { createLogger } from '../../infra/log.ts';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey, type NewKey } from '../../infra/postgres/keys.ts';
import { grant } from '../../infra/postgres/ledger.ts';
import type { Sql } from '../../infra/postgres/pool.ts';
import { registerLedgerMetrics } from '../../infra/telemetry/ledgerMetrics.ts';
import { createMetrics } from '../../infra/telemetry/metrics.ts';
import { registerProviderMetrics } from '../../infra/telemetry/providerMetrics.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { createWorld } from '../harness/services.ts';

export interface TestApi {
  origin: string;
  baseUrl: string;
  port: number;
  server: Server;
  opened: OpenedDependencies;
  inFlight: InFlight;
  environment: Record<string, string>;
  log: string[];
  call(path: string, init?: RequestInit & { key?: string }): Promise<Response>;
  newAccount(): Promise<string>;
  newKey(keyType: KeyType, more?: Partial<NewKey>): Promise<{ secret: string; keyId: string; accountId: string }>;
  /** Returns a key of an account with 1,000 USD. Paid routes read no body without funds. */
  fundedKey(keyType: KeyType, more?: Partial<NewKey>): Promise<{ secret: string; keyId: string; accountId: string }>;
  stop(): Promise<void>;
}

export interface TestApiOptions {
  routes?: readonly Route[];
  /** World of another process, to run beside it. */
  environment?: Record<string, string>;
  config?: (config: Config) => Config;
  parts?: (parts: HealthCheck[]) => HealthCheck[];
  connectionsPerAddress?: number;
  /** `published` keeps the published error budgets. By default no account reaches one. */
  budgets?: 'published';
}

const PLENTY = { failedPer30s: 1_000_000_000 };

export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const environment = options.environment ?? (await createWorld()).environment;
  const loaded = loadConfig(PROVIDERS, { LOG_LEVEL: 'debug', ...environment, PORT: '0' });
  const config = options.config?.(loaded) ?? loaded;
  const log: string[] = [];
  const logger = createLogger({
    level: config.logLevel,
    name: 'api',
    destination: { write: (line) => log.push(line) },
  });
  const opened = await openDependencies(config, logger);
  const inFlight = createInFlight();
  const turnGuard = new TurnGuard();
  const metrics = createMetrics('api');
  registerLedgerMetrics(metrics.registry, opened.dependencies.core.sql);
  registerProviderMetrics(metrics.registry, opened.dependencies.core.sql, config.providers);
  const parts = options.parts?.(opened.parts) ?? opened.parts;
  if (!options.budgets) opened.dependencies.limits.calls.overrideOf = () => PLENTY;
  const app = createApp({
    ...opened,
    inFlight,
    turnGuard,
    metrics,
    readiness: createReadiness(parts, () => undefined),
    routes: [...ROUTES, ...(options.routes ?? [])],
  });
  const server = await listen(app.callback(), {
    host: '127.0.0.1',
    port: 0,
    metrics,
    turnGuard,
    proxies: opened.dependencies.limits.proxies,
    ...(options.connectionsPerAddress && { connectionsPerAddress: options.connectionsPerAddress }),
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const { sql } = opened.dependencies.core;
  const newAccount = async () => (await createAccount(sql, { name: 'test' })).id;
  const newKey: TestApi['newKey'] = async (keyType, more = {}) => {
    const accountId = more.accountId ?? (await newAccount());
    const { record, secret } = await createKey(sql, { keyType, ...more, accountId });
    return { secret, keyId: record.id, accountId };
  };
  return {
    ...{ origin, baseUrl: `${origin}/api/v1`, port, server, opened, inFlight, environment, log, newAccount },
    call(path, { key, ...init } = {}) {
      const headers = new Headers(init.headers);
      if (key) headers.set('authorization', `Bearer ${key}`);
      return fetch(`${origin}/api/v1${path}`, { ...init, headers });
    },
    newKey,
    fundedKey: async (keyType, more) => await funded(sql, await newKey(keyType, more)),
    async stop() {
      await drain(server, inFlight, 5_000);
      await opened.close();
    },
  };
}

async function funded<Made extends { accountId: string }>(sql: Sql, made: Made): Promise<Made> {
  const { accountId } = made;
  const credit = { operationId: randomUUID(), accountId, amount: 10n ** 12n, notes: 'test' };
  await grant(sql, { ...credit, currency: 'usd' });
  return made;
}
