/** Asks a provider to stop a generation that is no longer wanted: it may have more to do, and may charge for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationHandle } from '../providers/shared/provider.ts';
import type { ActivityDependencies } from './dependencies.ts';

const STOP_LIMIT_MS = 10_000;

export interface RunningOperation {
  queueId: string;
  provider: string;
  /** Null: the provider gave no id, so it cannot be asked to stop. */
  operation: OperationHandle | null;
}

/**
 * Best effort, once, at most ten seconds; never throws. True when the provider reports that it stopped without cost.
 */
export async function stopAtProvider(
  { providers, folders, log }: Pick<ActivityDependencies, 'providers' | 'folders' | 'log'>,
  { queueId, provider, operation }: RunningOperation,
): Promise<boolean> {
  if (operation === null) return false;
  const adapter = providers.get(provider);
  if (!adapter?.cancel) return false;
  const over = new AbortController();
  let folder: string | undefined;
  try {
    folder = await folders.create();
    const signal = AbortSignal.timeout(STOP_LIMIT_MS);
    const asked = adapter.cancel(operation, { workFolder: folder, signal, heartbeat: () => undefined });
    // An adapter that ignores the signal is not waited for either.
    const late = sleep(STOP_LIMIT_MS, undefined, { signal: over.signal }).then(() => {
      throw new Error('no answer in time');
    });
    late.catch(() => undefined);
    const isStopped = await Promise.race([asked, late]);
    log.info({ queueId, provider, isStopped }, 'provider told to stop');
    return isStopped;
  } catch (err) {
    log.warn({ err, queueId, provider }, 'a provider was not told to stop');
    return false;
  } finally {
    over.abort();
    if (folder !== undefined) await folders.remove(folder).catch(() => undefined);
  }
}
