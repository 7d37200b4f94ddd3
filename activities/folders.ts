/** Work in a private folder that is gone afterwards, whatever happened. */
import { Context } from '@temporalio/activity';
import type { ActivityDependencies } from './dependencies.ts';

export interface Workplace {
  folder: string;
  signal: AbortSignal;
  heartbeat: () => void;
}

const HEARTBEAT_MS = 4_000;

/** Runs a step with a folder of its own and a steady heartbeat, so that a dead worker is noticed within seconds. */
export async function inWorkplace<T>(
  dependencies: ActivityDependencies,
  step: (place: Workplace) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const heartbeat = () => context.heartbeat();
  const timer = setInterval(heartbeat, HEARTBEAT_MS);
  const folder = await dependencies.folders.create();
  try {
    return await step({ folder, signal: context.cancellationSignal, heartbeat });
  } finally {
    clearInterval(timer);
    await dependencies.folders.remove(folder);
  }
}
