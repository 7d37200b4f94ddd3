/** What the activities stand on; opened once by the worker process. */
import type pg from 'pg';
import type { Model } from '../domain/catalogue/model.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import type { Logger } from '../infra/log.ts';
import type { MediaTools } from '../infra/media/mediaTools.ts';
import type { WorkFolders } from '../infra/media/workFolders.ts';
import type { Storage } from '../infra/s3/storage.ts';
import type { GenerationProvider } from '../providers/provider.ts';

export interface ActivityDependencies {
  pool: pg.Pool;
  storage: Storage;
  models: ReadonlyMap<string, Model>;
  providers: ReadonlyMap<string, GenerationProvider>;
  guardedFetch: GuardedFetch;
  tools: MediaTools;
  folders: WorkFolders;
  log: Logger;
  /** Whether the workflow of this id is still open; for the reconciler. */
  isWorkflowOpen(workflowId: string): Promise<boolean>;
}
