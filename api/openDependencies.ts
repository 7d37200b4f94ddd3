/** Opens what the API stands on. Nothing is connected to yet: a part that is missing at the start may come later. */
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { type WorkFolders, workFolders } from '../engines/child/workFolders.ts';
import { createDocumentReader } from '../engines/documents/documentReader.ts';
import { createImageWork } from '../engines/images/imageWork.ts';
import type { MediaTools } from '../engines/media/mediaTools.ts';
import { createAccountShares } from '../infra/accountShares.ts';
import { createMediaBudget } from '../infra/byteBudget.ts';
import type { Config } from '../infra/config/config.ts';
import { createGuardedFetch } from '../infra/http/guardedFetch.ts';
import { createPageReader } from '../infra/http/pages/pageReader.ts';
import { createTrustedProxies } from '../infra/http/trustedProxies.ts';
import type { Logger } from '../infra/log.ts';
import { createLedger } from '../infra/postgres/createLedger.ts';
import { createDatabaseClock } from '../infra/postgres/databaseClock.ts';
import { createFundsReader } from '../infra/postgres/funds.ts';
import { keyChannel } from '../infra/postgres/keyChanges.ts';
import { findKey, noteKeyUse } from '../infra/postgres/keys.ts';
import { openListener } from '../infra/postgres/listener.ts';
import { openLedgerPool, openPool } from '../infra/postgres/pool.ts';
import { watchCircuits } from '../infra/postgres/providerHealth.ts';
import { createSignInNonces } from '../infra/postgres/signInNonces.ts';
import { createConcurrencyLimiter } from '../infra/redis/concurrencyLimiter.ts';
import { openRedis, pingRedis } from '../infra/redis/connect.ts';
import { createLimiter } from '../infra/redis/limiter.ts';
import { createRpcCache } from '../infra/redis/rpcCache.ts';
import { openStorage } from '../infra/s3/storage.ts';
import { providerOutcomes, providerSeconds } from '../infra/telemetry/counters.ts';
import { keepLabelled } from '../infra/telemetry/labelled.ts';
import { openTemporal } from '../infra/temporal/connect.ts';
import { createProviders, type Providers } from '../providers/createProviders.ts';
import { createPaymentNetworks } from '../providers/payments/createPaymentNetworks.ts';
import { createEthCalls } from '../providers/payments/evm/ethCall.ts';
import { createRpcUpstreams } from '../providers/rpc/createRpcUpstreams.ts';
import { createSearch } from '../providers/search/createSearch.ts';
import type { MediaOutcome, TextOutcome } from '../providers/shared/upstreams.ts';
import type { Authentication } from './auth/authenticate.ts';
import { createKeyCache } from './auth/keyCache.ts';
import { createKeyUse } from './auth/keyUse.ts';
import { createSignIn } from './auth/signIn/createSignIn.ts';
import { createSignInThrottle, type SignInThrottle } from './auth/signInThrottle.ts';
import { createWalletCallers } from './auth/walletCallers.ts';
import { createAnalyticsCache } from './billing/analyticsCache.ts';
import { createBodyBudget } from './body/bodyBuffer.ts';
import { charactersLoader } from './catalogue/loadedCharacters.ts';
import { publishCatalogue } from './catalogue/publishedCatalogue.ts';
import type {
  AccountDependencies,
  CoreDependencies,
  Dependencies,
  JobDependencies,
  LimitDependencies,
  ProviderDependencies,
} from './dependencies.ts';
import type { HealthCheck } from './http/health.ts';
import { createLimits } from './limits/callLimits.ts';
import { createFundsGate } from './paid/fundsGate.ts';
import { createAverageTimes } from './queue/averageTimes.ts';
import { createJobWatch, type JobWatch } from './queue/jobWatch.ts';
import { AnswerBudget } from './rpc/answerBudget.ts';
import { watchNodes } from './rpc/askNodes.ts';
import { createAnswerSpeeds } from './text/answerSpeeds.ts';
import { traceMediaProvider, traceTextProvider } from './traceProviders.ts';
import { createPaymentOffers } from './wallets/paymentOffers.ts';
import { createTopUpService } from './wallets/topUpService.ts';

export interface OpenedDependencies {
  dependencies: Dependencies;
  authentication: Authentication;
  parts: HealthCheck[];
  close(): Promise<void>;
}

const MAX_STATEMENTS = 24;
const LIMITS_ALONE = 'Redis does not answer: limits are counted by each process for itself';

export async function openDependencies(config: Config, log: Logger): Promise<OpenedDependencies> {
  const { databaseUrl } = config;
  const sql = openPool({ databaseUrl, applicationName: 'farebox-api', max: MAX_STATEMENTS });
  const redis = openRedis(config.redisUrl, log);
  const temporal = openTemporal({ ...config.temporal, retries: 'none' });
  const storage = openStorage(config.s3);
  const folders = workFolders(join(config.dataFolder, 'tmp'));
  await folders.sweep();
  const clock = createDatabaseClock();
  const ledgerPool = openLedgerPool({ databaseUrl, applicationName: 'farebox-api-ledger' });
  const ledger = createLedger(ledgerPool);
  const { providers, callers, closeProviders } = openProviders(config, redis, folders);
  const { rpc } = providers;
  const jobWatch = createJobWatch();
  const core = {
    ...{ config, log, sql, clock, redis },
    ...{ published: publishCatalogue(config), charactersLoaded: charactersLoader(sql, config) },
  };
  const { limits, closeLimits } = openLimits(core);
  const wallets = openWallets(core);
  const { authentication, closeAuthentication } = openAuthentication({
    ...{ core, jobWatch, throttle: limits.signInThrottle, accounts: wallets.parts },
  });
  return {
    dependencies: {
      core,
      accounts: {
        ...wallets.parts,
        ...{ ledger, signIn: authentication.signIn, topUps: createTopUpService({ sql, temporal, log }) },
        ...{ analytics: createAnalyticsCache(), rpcClaims: new Map() },
      },
      limits,
      jobs: {
        ...{ temporal, storage, jobWatch, circuits: watchCircuits(sql), callers },
        ...{ averageTimes: createAverageTimes(sql), departures: new Map() },
      },
      providers,
    },
    authentication,
    parts: partsOf({ sql, redis, storage, temporal }),
    async close() {
      await Promise.all([closeAuthentication(), closeLimits(), wallets.close()]);
      await ledger.close();
      await closeProviders();
      await Promise.all([...wallets.parts.payments.values()].map((network) => network.close?.()));
      redis.disconnect();
      storage.close();
      await Promise.all([rpc.close(), sql.end(), ledgerPool.end(), temporal.close(), folders.settled()]);
    },
  };
}

/** `closeProviders` leaves the chain nodes open, which keep their answers in Redis. */
function openProviders(config: Config, redis: Redis, folders: WorkFolders) {
  const { allowPrivateHosts } = config.fetch;
  const downloads = createGuardedFetch({ allowPrivateHosts });
  const pages = createPageReader({ allowPrivateHosts });
  const documents = createDocumentReader({ workFolders: folders });
  const images = createImageWork();
  const search = createSearch(config);
  const tools = toolsOf(config, folders.root);
  const created = createProviders(config, { tools, guardedFetch: downloads, observe: watchProviders() });
  const textProviders = traceEach(config, created.text(), traceTextProvider);
  const mediaProviders = traceEach(config, created.media(images), traceMediaProvider);
  const rpc = createRpcUpstreams(config, { cache: createRpcCache(redis), observe: watchNodes() });
  let queue: ReturnType<Providers['queue']> | undefined;
  const providers: ProviderDependencies = {
    ...{ textProviders, mediaProviders, answerSpeeds: createAnswerSpeeds(), rpc, search },
    ...{ downloads, pages, documents, images, folders },
  };
  return {
    providers,
    // Only a worker hands jobs over. Here their adapters check callbacks, and the first callback opens them.
    callers() {
      queue ??= created.queue();
      return queue;
    },
    async closeProviders() {
      for (const children of [pages, documents, images]) children.close();
      await search?.close();
      await Promise.all([...textProviders.values()].map((provider) => provider.close()));
      await Promise.all([...mediaProviders.values()].map((provider) => provider.close?.()));
    },
  };
}

function traceEach<Provider>(
  { providers }: Pick<Config, 'providers'>,
  opened: ReadonlyMap<string, Provider>,
  trace: (entry: { name: string; kind: string }, provider: Provider) => Provider,
): Map<string, Provider> {
  const entries = [...opened].map(([name, provider]) => {
    return [name, trace({ name, kind: providers[name]?.kind ?? name }, provider)] as const;
  });
  return new Map(entries);
}

function toolsOf(config: Config, workFolder: string): MediaTools {
  const { ffmpegPath, ffprobePath, espeakPath, recogniser } = config;
  return {
    ...{ ffmpegPath, ffprobePath, workFolder },
    ...(espeakPath && { espeakPath }),
    ...(recogniser && { recogniser }),
  };
}

/** What came of each call to a service that answers at once. */
function watchProviders(): (entry: string, outcome: TextOutcome | MediaOutcome) => void {
  const outcomes = keepLabelled(providerOutcomes);
  const seconds = keepLabelled(providerSeconds);
  return (entry, { call, outcome, durationMs }) => {
    outcomes(entry, call, outcome).inc();
    seconds(entry, call).observe(durationMs / 1_000);
  };
}

/** What must answer before requests are sent here. */
function partsOf({
  sql,
  redis,
  storage,
  temporal,
}: Pick<CoreDependencies & JobDependencies, 'sql' | 'redis' | 'storage' | 'temporal'>): HealthCheck[] {
  return [
    { name: 'postgres', check: () => sql.query('select 1') },
    { name: 'redis', check: (timeoutMs) => pingRedis(redis, timeoutMs) },
    { name: 's3', check: () => storage.ready() },
    { name: 'temporal', check: (timeoutMs) => temporal.ready(timeoutMs) },
  ];
}

/** Calls of wallets are counted over all processes, those of keys by `calls`. */
function openLimits({ config, redis, log }: Pick<CoreDependencies, 'config' | 'redis' | 'log'>) {
  const onFallback = (err: unknown) => log.warn({ part: 'redis', err }, LIMITS_ALONE);
  const calls = createLimits(config, createLimiter(redis, onFallback));
  const limiter = createConcurrencyLimiter(redis, { onFallback });
  const limits: LimitDependencies = {
    calls,
    walletCalls: { enter: limiter.enter },
    signInThrottle: createSignInThrottle(calls, config.limits.perAddressPerMinute),
    accountShares: createAccountShares(calls),
    mediaBudget: createMediaBudget(),
    bodyBudget: createBodyBudget(),
    answerBudget: new AnswerBudget(),
    proxies: createTrustedProxies(config.limits.trustedProxies),
  };
  return { limits, closeLimits: () => limiter.close() };
}

function openWallets({ config, sql }: Pick<CoreDependencies, 'config' | 'sql'>) {
  const reader = createFundsReader(sql);
  const web3Tokens = createSignInNonces(sql);
  const payments = createPaymentNetworks(config);
  return {
    parts: {
      ...{ payments, offers: createPaymentOffers(payments) },
      ...{ fundsGate: createFundsGate(reader, config), web3Tokens },
    },
    async close() {
      await Promise.all([reader.close(), web3Tokens.close()]);
    },
  };
}

interface AuthenticationParts {
  core: Pick<CoreDependencies, 'config' | 'sql' | 'clock' | 'log'>;
  accounts: Pick<AccountDependencies, 'offers' | 'fundsGate'>;
  jobWatch: JobWatch;
  throttle: SignInThrottle;
}

/** Keys and jobs are listened for on one connection. */
function openAuthentication({ core, accounts, jobWatch, throttle }: AuthenticationParts) {
  const { config, sql, clock, log } = core;
  const { offers, fundsGate } = accounts;
  const keys = createKeyCache({
    async find(secretHash) {
      const key = await findKey(sql, secretHash);
      if (key) clock.set(key.readAt);
      return key;
    },
    listening: () => listener.listening(),
  });
  const changedKeys = keyChannel({
    onChange(change) {
      keys.forget(change);
      if (change.kind === 'account') fundsGate.forget(change.accountId);
    },
    onGap: () => keys.clear(),
  });
  const { databaseUrl } = config;
  const listener = openListener({ databaseUrl, channels: [changedKeys, jobWatch.channel], log });
  const use = createKeyUse((uses) => noteKeyUse(sql, uses), clock);
  const walletCaller = createWalletCallers();
  const { ethCall, close: closeCalls } = createEthCalls(config.x402.networks);
  const signIn = createSignIn({ settings: config.x402, ethCall, sql, clock, log, throttle });
  const authentication: Authentication = {
    ...{ config, keys, use, clock, offers, walletCaller, throttle, signIn },
    callers: new WeakMap(),
  };
  return {
    authentication,
    closeAuthentication: async () => {
      await Promise.all([listener.close(), use.close(), signIn.close(), closeCalls()]);
    },
  };
}
