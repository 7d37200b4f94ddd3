import { outputPrefix } from '../infra/s3/objectKeys.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Removes what attempts left below a job's folder, but for the one that counts. */
export async function removeOutputs(
  dependencies: ActivityDependencies,
  queueId: string,
  except?: string,
): Promise<void> {
  const { objects } = await dependencies.storage.list(outputPrefix(queueId));
  for (const { key } of objects) {
    if (key !== except) await dependencies.storage.remove(key);
  }
}
