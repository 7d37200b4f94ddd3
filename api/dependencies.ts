/** What handlers work with, in five groups: opened once by the entry point, closed once at the end. */
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { WorkFolders } from '../engines/child/workFolders.ts';
import type { DocumentReader } from '../engines/documents/documentReader.ts';
import type { ImageWork } from '../engines/images/imageWork.ts';
import type { AccountShares } from '../infra/accountShares.ts';
import type { HeldBytes } from '../infra/byteBudget.ts';
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
import type { AnswerRoom } from './rpc/answerRoom.ts';
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
  /** To be waited for before the characters table is read. */
  charactersLoaded(): Promise<void>;
}

/** Money of accounts, and the wallets that pay it in and sign in. */
export interface AccountDependencies {
  /** Holds and resolutions, those of a tick together. */
  ledger: Ledger;
  fundsGate: FundsGate;
  /** On which wallets pay, by CAIP-2 name; empty: none is configured. */
  payments: ReadonlyMap<string, PaymentNetwork>;
  /** What those offer. */
  offers: PaymentOffers;
  /** Takes their payments. */
  topUps: TopUpService;
  /** Undefined: no wallet can sign in. */
  signIn: SignIn | undefined;
  /** Of the tokens that wallets signed for keys. */
  web3Tokens: SignInNonces;
  analytics: AnalyticsCache;
  /** Under `account key`: ends of requests with an Idempotency-Key, which all that wait for one look for together. */
  rpcClaims: Map<string, Promise<void>>;
}

/** How much one caller, one address and all together may take of the service at a time. */
export interface LimitDependencies {
  /** Requests, tokens and failures, counted for each call. */
  calls: LimitSettings;
  /** Calls of wallets that are in flight, over all processes. */
  walletCalls: Pick<ConcurrencyLimiter, 'enter'>;
  /** Bounds what an address may cost by sign-ins in vain. */
  signInThrottle: SignInThrottle;
  /** Of what an account takes of this process at a time. */
  accountShares: AccountShares;
  /** Of what was fetched for conversations, until they are answered. */
  heldBytes: HeldBytes;
  bodyBudget: HeldBytes;
  /** Of large answers of chain nodes, until they are read. */
  answerRoom: AnswerRoom;
  /** Tell where a request comes from. */
  proxies: TrustedProxies;
}

/** Queued jobs: their workflows, their media, and who waits for them or calls back about them. */
export interface JobDependencies {
  temporal: Temporal;
  storage: Storage;
  /** Tells who waits for a job that it changed. */
  jobWatch: JobWatch;
  /** Of the providers of queued jobs. */
  circuits: OpenCircuits;
  averageTimes: AverageTimes;
  /**
   * Media that is about to be deleted, by queue_id: a client that comes back at once waits for what becomes of it, instead
   * of being sent what is on its way out. Another process sends it until the row says that it is gone.
   */
  departures: Map<string, Promise<boolean>>;
  /** By entry; opened when it is first asked for: the API only lets them look at who calls back. */
  callers(): ReadonlyMap<string, Pick<GenerationProvider, 'isGenuine'>>;
}

/** Services and programs of this machine that answer while the client waits. */
export interface ProviderDependencies {
  /** By provider entry. */
  textProviders: ReadonlyMap<string, TextProvider>;
  /** Measured rates at which the text models write. */
  answerSpeeds: AnswerSpeeds;
  /** Of pictures, transcripts and speech that are made while the client waits; by provider entry. */
  mediaProviders: ReadonlyMap<string, MediaProvider>;
  /** The nodes of the blockchains. */
  rpc: RpcUpstreams;
  /** Undefined: none is configured. */
  search: SearchProvider | undefined;
  /** Fetches what users' URLs name. */
  downloads: GuardedFetch;
  pages: PageReader;
  documents: DocumentReader;
  images: ImageWork;
  folders: WorkFolders;
}
