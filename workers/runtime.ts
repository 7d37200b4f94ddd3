/** The SDK's own log lines go into ours. */
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Logger } from '../infra/log.ts';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

export function installRuntime(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      const { error, workflowId, activityType, taskQueue } = meta ?? {};
      log[LEVELS[level]]({ err: error, workflowId, activityType, taskQueue }, message);
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
    },
    // Our own handlers decide when to stop.
    shutdownSignals: [],
  });
}
