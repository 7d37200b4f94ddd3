/** What handlers work with: opened once by the entry point, closed once at the end. */
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
import type { PublishedCatalogue } from './catalogue/publishedCatalogue.ts';
import type { LimitSettings } from './limits/callLimits.ts';
import type { FundsGate } from './paid/fundsGate.ts';
import type { JobWatch } from './queue/jobWatch.ts';
import type { AnswerSpeeds } from './text/answerSpeeds.ts';
import type { PaymentOffers } from './wallets/paymentOffers.ts';
import type { TopUpService } from './wallets/topUpService.ts';

export interface Dependencies {
  config: Config;
  sql: pg.Pool;
  clock: DatabaseClock;
  /** Holds and resolutions, those of a tick together. */
  ledger: Ledger;
  /** By provider entry. */
  textProviders: ReadonlyMap<string, TextProvider>;
  /** Measured rates at which the text models write. */
  answerSpeeds: AnswerSpeeds;
  /** Of pictures, transcripts and speech that are made while the client waits; by provider entry. */
  mediaProviders: ReadonlyMap<string, MediaProvider>;
  /** Of the providers of queued jobs. */
  circuits: OpenCircuits;
  /** By entry; opened when it is first asked for: the API only lets them look at who calls back. */
  callers(): ReadonlyMap<string, Pick<GenerationProvider, 'isGenuine'>>;
  /** The nodes of the blockchains. */
  rpc: RpcUpstreams;
  redis: Redis;
  temporal: Temporal;
  storage: Storage;
  /** Tells who waits for a job that it changed. */
  jobWatch: JobWatch;
  limits: LimitSettings;
  /** Tell where a request comes from. */
  proxies: TrustedProxies;
  /** Fetches what users' URLs name. */
  downloads: GuardedFetch;
  /** Of what was fetched for conversations, until they are answered. */
  heldBytes: HeldBytes;
  bodyBudget: HeldBytes;
  /** Of what an account takes of this process at a time. */
  accountShares: AccountShares;
  folders: WorkFolders;
  documents: DocumentReader;
  images: ImageWork;
  pages: PageReader;
  /** Undefined: none is configured. */
  search: SearchProvider | undefined;
  /** On which wallets pay, by CAIP-2 name; empty: none is configured. */
  payments: ReadonlyMap<string, PaymentNetwork>;
  /** What those offer. */
  offers: PaymentOffers;
  /** What wallets have, and how many of their calls are in flight. */
  wallets: Pick<ConcurrencyLimiter, 'enter'>;
  fundsGate: FundsGate;
  /** Takes their payments. */
  topUps: TopUpService;
  /** Undefined: no wallet can sign in. */
  signIn: SignIn | undefined;
  /** Bounds what an address may cost by sign-ins in vain. */
  signInThrottle: SignInThrottle;
  /** Of the tokens that wallets signed for keys. */
  web3Tokens: SignInNonces;
  log: Logger;
  published: PublishedCatalogue;
  /** To be waited for before the characters table is read. */
  charactersLoaded(): Promise<void>;
}
