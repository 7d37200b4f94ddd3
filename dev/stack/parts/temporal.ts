/** Temporal with its UI, on one database file. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';

export interface TemporalOptions {
  program: FoundProgram;
  folder: string;
  port: number;
  /** Default: no UI. */
  uiPort?: number;
  namespaces?: string[];
}

/** Without these pragmas every step waits for a disk flush: 11 workflows per second instead of 60. */
const PRAGMAS = ['journal_mode=wal', 'synchronous=normal'];

const DYNAMIC_CONFIG = [
  // By default the only shard's transfer queue is read 20 times a second: every hop would wait up to 50 ms.
  'history.transferProcessorMaxPollRPS=2000',
  // A thousand jobs of one account do not delay the first of another.
  'matching.enableFairness=true',
  // One partition, because one node needs no more, and a task may be forgotten in another. Bench `jobs`.
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  // Retries of a workflow task that several dying workers held would otherwise be delayed up to ten minutes.
  'history.workflowTaskRetryMaxInterval="10s"',
  // Update-with-start, which the queue route uses.
  'frontend.enableExecuteMultiOperation=true',
  // Worker versioning: jobs finish on the version that started them.
  'system.enableDeploymentVersions=true',
  'frontend.workerVersioningWorkflowAPIs=true',
  'frontend.workerVersioningDataAPIs=true',
  // Makes a new search attribute usable at once, not after a minute of cache.
  'system.forceSearchAttributesCacheRefreshOnRead=true',
];

export function temporalProcess(options: TemporalOptions): PartProcess {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const ui = options.uiPort === undefined ? ['--headless'] : ['--ui-port', String(options.uiPort)];
  return {
    name: 'temporal',
    command: options.program.path,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(options.port), ...ui],
      ...['--db-filename', path.join(options.folder, 'temporal.db')],
      ...PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma]),
      ...DYNAMIC_CONFIG.flatMap((setting) => ['--dynamic-config-value', setting]),
      ...(options.namespaces ?? []).flatMap((namespace) => ['--namespace', namespace]),
      // Ignores the operator's client settings (a cloud address, a key).
      ...['--disable-config-env', '--disable-config-file', '--log-format', 'json'],
    ],
    env: partEnvironment({ HOME: options.folder }),
    cwd: options.folder,
    check: () => answers(`127.0.0.1:${options.port}`),
    isAnswer: (error) => isGrpcServiceError(error) && !SILENCE.has(error.code),
    readyTimeoutMs: 60_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 10_000,
  };
}

/** gRPC codes for a timeout and an unreachable server. */
const SILENCE = new Set([4, 14]);

/** Rejects unless the frontend serves requests: accepting connections is not enough. */
async function answers(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: '2s' });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace: 'default' }),
    );
  } finally {
    await connection.close();
  }
}
