/** What the activities stand on; opened once by the worker process. */
import type pg from 'pg';
import type { Model } from '../domain/catalogue/model.ts';
import type { Nano } from '../domain/money.ts';
import type { ProviderSettings } from '../domain/providerSettings.ts';
import type { WorkFolders } from '../engines/child/workFolders.ts';
import type { MediaTools } from '../engines/media/mediaTools.ts';
import type { AccountShares } from '../infra/accountShares.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import type { GuardedPost } from '../infra/http/guardedPost.ts';
import type { Logger } from '../infra/log.ts';
import type { Storage } from '../infra/s3/storage.ts';
import type { KeyedSemaphore, Semaphore } from '../infra/semaphore.ts';
import type { PaymentNetwork } from '../providers/payments/paymentNetwork.ts';
import type { GenerationProvider } from '../providers/shared/provider.ts';
import type { TopUpInput, WebhookInput } from '../workflows/contract.ts';

export interface ActivityDependencies {
  pool: pg.Pool;
  storage: Storage;
  models: ReadonlyMap<string, Model>;
  providers: ReadonlyMap<string, GenerationProvider>;
  /** By entry name, as configured. */
  providerSettings: Readonly<Record<string, ProviderSettings>>;
  /** Where the provider of this job may tell its end; undefined where it cannot reach us. */
  callbackUrl(job: { provider: string; queueId: string }): Promise<string | undefined>;
  /** How much of a provider's work an account may be refunded a UTC day, in nano USD by list price. */
  refundedPerDay(accountId: string): Nano;
  guardedFetch: GuardedFetch;
  /** Bytes and steps of the queue `media` that an account may have in this process. */
  shares: AccountShares;
  /** Turns of all steps of the queue `media` in this process. */
  mediaTurns: Semaphore;
  /** Turns of the transactions that lock an account, by its id. */
  accountTurns: KeyedSemaphore;
  guardedPost: GuardedPost;
  tools: MediaTools;
  folders: WorkFolders;
  log: Logger;
  /** On which wallets pay, by CAIP-2 name. */
  payments: ReadonlyMap<string, PaymentNetwork>;
  /** How long a payment must be gone from its chain before it is believed to be. */
  topUpGoneMs: number;
  /** Whether the workflow of this id is still open; for the reconciler. */
  isWorkflowOpen(workflowId: string): Promise<boolean>;
  /** Has an event told that its own workflow did not tell; nothing when somebody does already. */
  startWebhook(told: WebhookInput): Promise<void>;
  /** Has a payment seen through whose workflow is gone; nothing when there is one. */
  startTopUp(input: TopUpInput): Promise<void>;
}
