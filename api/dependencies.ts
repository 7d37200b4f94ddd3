/** Dependencies of handlers, in five groups: opened once by the entry point, closed once at the end. */
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { WorkFolders } from '../engines/child/workFolders.ts';
import type { DocumentReader } from '../engines/documents/documentReader.ts';
import type { ImageWork } from '../engines/images/imageWork.ts';
import type { AccountShares } from '../infra/accountShares.ts';
import type { ByteBudget } from '../infra/byteBudget.ts';
import type { Config } from '../infra/config/config.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import type { PageReader } from '../infra/http/pages/pageReader.ts';
import type { TrustedProxies } from '../infra/http/trustedProxies.ts';
import type { Logger } from '../infra/log.ts';
import type { Ledger } from '../infra/postgres/createLedger.ts';
import type { DatabaseClock } from '../infra/postgres/databaseClock.ts';
import type { OpenCircuits } from '../infra/postgres/providerHealth.ts';
import type { SignInNonces } from '../infra/postgres/signInNonces.ts';
import type { ConcurrencyLimiter } from '../infra/redis/concurrencyLimiter.ts';
import type { Storage } from '../infra/s3/storage.ts';
import type { Temporal } from '../infra/temporal/connect.ts';
import type { PaymentNetwork } from '../providers/payments/paymentNetwork.ts';
import type { RpcUpstreams } from '../providers/rpc/rpcUpstreams.ts';
import type { SearchProvider } from '../providers/search/searchProvider.ts';
import type { MediaProvider } from '../providers/shared/mediaProvider.ts';
import type { GenerationProvider } from '../providers/shared/provider.ts';
import type { TextProvider } from '../providers/shared/textProvider.ts';
import type { SignIn } from './auth/signIn/signIn.ts';
import type { SignInThrottle } from './auth/signInThrottle.ts';
import type { AnalyticsCache } from './billing/analyticsCache.ts';
import type { PublishedCatalogue } from './catalogue/publishedCatalogue.ts';
import type { LimitSettings } from './limits/callLimits.ts';
import type { FundsGate } from './paid/fundsGate.ts';
import type { AverageTimes } from './queue/averageTimes.ts';
import type { JobWatch } from './queue/jobWatch.ts';
import type { AnswerBudget } from './rpc/answerBudget.ts';
import type { AnswerSpeeds } from './text/answerSpeeds.ts';
import type { PaymentOffers } from './wallets/paymentOffers.ts';
import type { TopUpService } from './wallets/topUpService.ts';

export interface Dependencies {
  core: CoreDependencies;
  accounts: AccountDependencies;
  limits: LimitDependencies;
  jobs: JobDependencies;
  providers: ProviderDependencies;
}

/** Settings, log, connections and tables of the whole service. */
export interface CoreDependencies {
  config: Config;
  log: Logger;
  sql: pg.Pool;
  clock: DatabaseClock;
  redis: Redis;
  published: PublishedCatalogue;
  /** Awaited before the characters table is read. */
  charactersLoaded(): Promise<void>;
}

/** Money of accounts, and the wallets that pay it in and sign in. */
export interface AccountDependencies {
  /** Holds and resolutions, those of a tick together. */
  ledger: Ledger;
  fundsGate: FundsGate;
  /** Payment networks by CAIP-2 name; empty: none is configured. */
  payments: ReadonlyMap<string, PaymentNetwork>;
  /** Payment offers of those networks. */
  offers: PaymentOffers;
  /** Accepts payments on those networks. */
  topUps: TopUpService;
  /** Undefined: no wallet can sign in. */
  signIn: SignIn | undefined;
  /** Nonces of the tokens that wallets sign for keys. */
  web3Tokens: SignInNonces;
  analytics: AnalyticsCache;
  /** Ends of requests with an Idempotency-Key, by `account key`: their waiters share one poll. */
  rpcClaims: Map<string, Promise<void>>;
}

/** Limits of one caller, of one address and of all together. */
export interface LimitDependencies {
  /** Requests, tokens and failures, counted for each call. */
  calls: LimitSettings;
  /** Calls of wallets that are in flight, over all processes. */
  walletCalls: Pick<ConcurrencyLimiter, 'enter'>;
  /** Bounds the cost of failed sign-ins by address. */
  signInThrottle: SignInThrottle;
  /** Shares of accounts in this process. */
  accountShares: AccountShares;
  /** Budget of media that were fetched for conversations, until they are answered. */
  mediaBudget: ByteBudget;
  bodyBudget: ByteBudget;
  /** Budget of large answers of chain nodes, until they are read. */
  answerBudget: AnswerBudget;
  /** Proxies whose headers give the address of a client. */
  proxies: TrustedProxies;
}

/** Queued jobs: their workflows and media, and the requests that wait for them or call back about them. */
export interface JobDependencies {
  temporal: Temporal;
  storage: Storage;
  /** Wakes requests that wait for a change of a job. */
  jobWatch: JobWatch;
  /** Circuits of the providers of queued jobs. */
  circuits: OpenCircuits;
  averageTimes: AverageTimes;
  /**
   * Media that is being deleted, by queue_id: a client that returns at once waits for the result and is not sent media
   * that is on its way out. Another process sends it until the row says that it is gone.
   */
  departures: Map<string, Promise<boolean>>;
  /** By entry, opened on first use: the API only lets them check callbacks. */
  callers(): ReadonlyMap<string, Pick<GenerationProvider, 'isGenuine'>>;
}

/** Services and programs of this machine that answer while the client waits. */
export interface ProviderDependencies {
  /** By provider entry. */
  textProviders: ReadonlyMap<string, TextProvider>;
  /** Measured rates at which the text models write. */
  answerSpeeds: AnswerSpeeds;
  /** Providers of pictures, transcripts and speech that are made while the client waits, by entry. */
  mediaProviders: ReadonlyMap<string, MediaProvider>;
  /** The nodes of the blockchains. */
  rpc: RpcUpstreams;
  /** Undefined: none is configured. */
  search: SearchProvider | undefined;
  /** Fetches URLs of users. */
  downloads: GuardedFetch;
  pages: PageReader;
  documents: DocumentReader;
  images: ImageWork;
  folders: WorkFolders;
}
