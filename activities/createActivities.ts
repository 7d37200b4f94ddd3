/** Wires the steps to the names by which the workflows call them. */

import { acceptJob } from './acceptJob.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { abandonJob, discardSource, endJob } from './endJob.ts';
import { asActivity } from './failures.ts';
import { awaitOutcome, generate } from './generate.ts';
import { measureSource } from './measureSource.ts';
import { removeMedia } from './removeMedia.ts';
import type { JobsActivities, MediaActivities, ProviderActivities, UpkeepActivities } from './types.ts';
import { performDuty } from './upkeep.ts';

export type Activities = JobsActivities & MediaActivities & ProviderActivities & UpkeepActivities;

export function createActivities(dependencies: ActivityDependencies): Activities {
  return {
    measureSource: ({ job }) => asActivity(() => measureSource(dependencies, job)),
    acceptJob: (order) => asActivity(() => acceptJob(dependencies, order)),
    discardSource: ({ queueId }) => asActivity(() => discardSource(dependencies, queueId)),
    generate: (order) => asActivity(() => generate(dependencies, order)),
    awaitOutcome: ({ job, operation }) => asActivity(() => awaitOutcome(dependencies, job, operation)),
    endJob: (input) => asActivity(() => endJob(dependencies, input)),
    abandonJob: (input) => asActivity(() => abandonJob(dependencies, input)),
    removeMedia: (input) => asActivity(() => removeMedia(dependencies, input)),
    performDuty: ({ duty, ...options }) => asActivity(() => performDuty(dependencies, duty, options)),
  };
}
