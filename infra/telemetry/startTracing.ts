/** Starts tracing when a collector is configured. Without one nothing is loaded. */
import type { Config } from '../config/config.ts';
import type { Logger } from '../log.ts';
import { recordWith } from './spans.ts';

export interface Tracing {
  /** Sends the waiting spans within a time limit; called after the last step. */
  stop(): Promise<void>;
}

const FLUSH_LIMIT_MS = 2_000;

export async function startTracing(
  { otlpEndpoint, buildId }: Pick<Config, 'otlpEndpoint' | 'buildId'>,
  service: 'api' | 'worker',
  log: Logger,
): Promise<Tracing> {
  if (otlpEndpoint === undefined) return { stop: async () => undefined };
  const { openTelemetry } = await import('./openTelemetry.ts');
  const onLost = (err: unknown) => log.warn({ err, part: 'collector' }, 'the collector does not take traces');
  const { recorder, close } = openTelemetry({ endpoint: otlpEndpoint, service, buildId, onLost });
  recordWith(recorder);
  return {
    async stop() {
      recordWith(undefined);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FLUSH_LIMIT_MS);
      });
      await Promise.race([close().catch(onLost), late]);
      clearTimeout(timer);
    },
  };
}
