/** Removes a stored output: first the object, then the word that it is gone, so that the word is never ahead. */
import { point } from '../infra/points.ts';
import { recordEvents } from '../infra/postgres/jobEvents.ts';
import { recordRemoved } from '../infra/postgres/jobs.ts';
import { jobsReached } from '../infra/telemetry/counters.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { discardSource } from './endJob.ts';
import { removeOutputs } from './removeOutputs.ts';

export async function removeMedia(
  dependencies: ActivityDependencies,
  { queueId, as }: { queueId: string; as: 'deleted' | 'expired' },
): Promise<void> {
  await removeOutputs(dependencies, queueId);
  await discardSource(dependencies, { queueId });
  await point('media-removed');
  const model = await recordRemoved(dependencies.pool, queueId, as);
  if (model !== undefined) jobsReached.labels(model, as).inc();
  await recordEvents(dependencies.pool, queueId, [{ event: as }]);
  await point('removal-recorded');
}
