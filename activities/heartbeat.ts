import { Context } from '@temporalio/activity';

/** Beats per timeout: one may be late or lost. */
const BEATS = 4;

/** Runs a step with a steady heartbeat, so that a dead worker is noticed within seconds, whatever the step waits for. */
export async function withHeartbeat<T>(step: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const { heartbeatTimeoutMs } = context.info;
  // Steps beside a workflow have none: the workflow's task is their life sign.
  if (!heartbeatTimeoutMs) return await step();
  const timer = setInterval(() => context.heartbeat(), heartbeatTimeoutMs / BEATS);
  try {
    return await step();
  } finally {
    clearInterval(timer);
  }
}
