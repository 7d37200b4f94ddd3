/** Runs work in a private folder that is removed afterwards in any case. */
import { Context } from '@temporalio/activity';
import type { ActivityDependencies } from './dependencies.ts';

export interface WorkFolder {
  folder: string;
  signal: AbortSignal;
  heartbeat: () => void;
}

/** Runs a step with its own folder. */
export async function withWorkFolder<T>(
  dependencies: ActivityDependencies,
  step: (place: WorkFolder) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const heartbeat = () => context.heartbeat();
  const folder = await dependencies.folders.create();
  try {
    return await step({ folder, signal: context.cancellationSignal, heartbeat });
  } finally {
    // The next step need not wait for the removal.
    void dependencies.folders.remove(folder);
  }
}
