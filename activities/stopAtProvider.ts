/** Tells a provider that nobody waits for a generation any more: it may have more to do, and may charge for what it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationHandle } from '../providers/provider.ts';
import type { ActivityDependencies } from './dependencies.ts';

const STOP_LIMIT_MS = 10_000;

export interface RunningOperation {
  queueId: string;
  provider: string;
  operation: OperationHandle;
}

/** Best effort, once, and over in ten seconds; never throws. */
export async function stopAtProvider(
  { providers, folders, log }: Pick<ActivityDependencies, 'providers' | 'folders' | 'log'>,
  { queueId, provider, operation }: RunningOperation,
): Promise<void> {
  const adapter = providers.get(provider);
  if (!adapter?.cancel) return;
  const over = new AbortController();
  let folder: string | undefined;
  try {
    folder = await folders.create();
    const signal = AbortSignal.timeout(STOP_LIMIT_MS);
    const asked = adapter.cancel(operation, { workFolder: folder, signal, heartbeat: () => undefined });
    // An adapter that does not look at the signal is not waited for either.
    const late = sleep(STOP_LIMIT_MS, undefined, { signal: over.signal }).then(() => {
      throw new Error('no answer in time');
    });
    late.catch(() => undefined);
    await Promise.race([asked, late]);
    log.info({ queueId, provider }, 'provider told to stop');
  } catch (err) {
    log.warn({ err, queueId, provider }, 'a provider was not told to stop');
  } finally {
    over.abort();
    if (folder !== undefined) await folders.remove(folder).catch(() => undefined);
  }
}
