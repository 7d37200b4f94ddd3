/** Temporal with its UI, on one file. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';

export interface TemporalOptions {
  program: FoundProgram;
  folder: string;
  port: number;
  /** Left out: no UI. */
  uiPort?: number;
  namespaces?: string[];
}

/**
 * Without these pragmas every step waits for a disk flush: 11 workflows a second instead of 60.
 */
const PRAGMAS = ['journal_mode=wal', 'synchronous=normal'];

const DYNAMIC_CONFIG = [
  // The one shard's transfer queue is else read 20 times a second: every hop would wait for a 50 ms tick.
  'history.transferProcessorMaxPollRPS=2000',
  // One account's thousand jobs do not delay another's first.
  'matching.enableFairness=true',
  // One queue, one order: of several partitions, which one node does not need, a task may wait in a forgotten one.
  // Bench `jobs`.
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  // A workflow task that several dying workers held in turn is else given up later each time, after ten minutes at last.
  'history.workflowTaskRetryMaxInterval="10s"',
  // Update-with-start, which the queue route is made of.
  'frontend.enableExecuteMultiOperation=true',
  // Worker versioning: jobs finish on the version they began on.
  'system.enableDeploymentVersions=true',
  'frontend.workerVersioningWorkflowAPIs=true',
  'frontend.workerVersioningDataAPIs=true',
  // A changed search attribute is usable at once, not after a minute of cache.
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
      // The operator's own client settings (a cloud address, a key) are not for this server.
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

/** Of gRPC: no answer in time, and nobody there. */
const SILENCE = new Set([4, 14]);

/** Whether the frontend serves requests, and not only accepts connections. */
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
