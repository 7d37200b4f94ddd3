/** Dependencies of the activities, opened once by the worker process. */
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
  /** Callback URL for the provider of this job; undefined when it cannot reach this service. */
  callbackUrl(job: { provider: string; queueId: string }): Promise<string | undefined>;
  /** Provider work that an account may be refunded per UTC day, in nano USD by list price. */
  refundedPerDay(accountId: string): Nano;
  guardedFetch: GuardedFetch;
  /** Bytes and steps of the queue `media` that an account may use in this process. */
  shares: AccountShares;
  /** Semaphore of all steps of the queue `media` in this process. */
  mediaTurns: Semaphore;
  /** Semaphores of the transactions that lock an account, by its id. */
  accountTurns: KeyedSemaphore;
  guardedPost: GuardedPost;
  tools: MediaTools;
  folders: WorkFolders;
  log: Logger;
  /** Payment networks by CAIP-2 name. */
  payments: ReadonlyMap<string, PaymentNetwork>;
  /** Time for which a payment must be missing from its chain before it counts as gone. */
  topUpGoneMs: number;
  /** Whether the workflow of this id is still open; for the reconciler. */
  isWorkflowOpen(workflowId: string): Promise<boolean>;
  /** Delivers an event that its workflow did not deliver; does nothing if a delivery is running. */
  startWebhook(told: WebhookInput): Promise<void>;
  /** Restarts the workflow of a payment; does nothing if one is running. */
  startTopUp(input: TopUpInput): Promise<void>;
}
