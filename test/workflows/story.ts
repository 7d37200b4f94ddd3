/** Runs the generation workflow on a real server with activities that a test chooses, and records the steps. */
import { randomUUID } from 'node:crypto';
import { type Client, Connection, Client as TemporalClient, WithStartWorkflowOperation } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { expect } from 'vitest';
import type { Activities } from '../../activities/createActivities.ts';
import type { MeasuredSource } from '../../activities/types.ts';
import { TASK_QUEUES } from '../../domain/queues.ts';
import { workflowModules } from '../../workers/bundle.ts';
import {
  ACCEPTED_UPDATE,
  type AcceptResult,
  GENERATION_WORKFLOW,
  type GenerationInput,
  type GenerationResult,
  type GenerationTiming,
  type GenerationWorkflow,
} from '../../workflows/contract.ts';

const SOURCE: MeasuredSource = {
  sizeBytes: 64_000,
  sha256: 'ab'.repeat(32),
  format: 'wav',
  demuxer: 'wav',
  contentType: 'audio/wav',
  decodedSeconds: 2,
  lossy: false,
  measuredAt: '2026-01-01T00:00:00.000Z',
};

const TIMING: GenerationTiming = {
  acceptMs: 20_000,
  deadlineMs: 20_000,
  retentionMs: 30_000,
  pollFirstMs: 20,
  pollLongestMs: 50,
  heartbeatMs: 5_000,
};

export interface Stage {
  client: Client;
  workflowBundle: WorkflowBundleWithSourceMap;
  close(): Promise<void>;
  /** The names of the activities that ran, in order, with the inputs that matter. */
  steps: string[];
  play(
    activities: Partial<Activities>,
    timing?: Partial<GenerationTiming>,
    webhook?: GenerationInput['webhook'],
  ): Promise<Play>;
  /** Sets the delivery attempt for tests that start a webhook workflow without a job. */
  attempts(deliver: Activities['deliverWebhook']): void;
  /** Starts the workflow without requesting its answer, like a caller that died in between. */
  playUnasked(timing: Partial<GenerationTiming>, activities?: Partial<Activities>): Promise<Omit<Play, 'accepted'>>;
}

interface Play {
  input: GenerationInput;
  accepted: Promise<AcceptResult>;
  handle: ReturnType<Client['workflow']['getHandle']>;
  result(): Promise<GenerationResult>;
}

/** The activities of a job that succeeds. A test replaces some of them. */
function happy(steps: string[]): Activities {
  const told = <T>(name: string, value: T) => {
    steps.push(name);
    return Promise.resolve(value);
  };
  return {
    measureSource: () => told('measureSource', { ok: true, source: SOURCE }),
    acceptJob: () =>
      told('acceptJob', {
        ok: true,
        durationSeconds: 2,
        chargeId: 'charge-1',
        priceUsd: '50000000',
        paid: '0.05 usd',
      }),
    discardSource: () => told('discardSource', undefined),
    generate: () => told('generate', { kind: 'stored' }),
    awaitOutcome: () => told('awaitOutcome', { kind: 'stored' }),
    endJob: ({ state }) => told(`endJob ${state}`, { state, refundId: 'refund-1' }),
    abandonJob: () => told('abandonJob', undefined),
    removeMedia: ({ as }) => told(`removeMedia ${as}`, undefined),
    deliverWebhook: ({ event }) => told(`deliverWebhook ${event}`, { outcome: 'delivered' }),
    performDuty: () => told('performDuty', { done: 0 }),
    recordTopUp: () => told('recordTopUp', { state: 'recorded', settlements: 0 }),
    settleTopUp: () => told('settleTopUp', { state: 'sent', settlements: 1 }),
    watchTopUp: () => told('watchTopUp', { found: 'gone' }),
    examineTopUp: () =>
      told('examineTopUp', {
        verdict: { found: 'gone' },
        stand: { state: 'refused', settlements: 1 },
        pauseMs: 1,
      }),
    concludeTopUp: () => told('concludeTopUp', { state: 'failed', settlements: 1 }),
  };
}

export async function openStage(temporal: { address: string; namespace: string }): Promise<Stage> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const steps: string[] = [];
  let current: Activities = happy(steps);
  const proxy = Object.fromEntries(
    Object.keys(current).map((name) => [
      name,
      (input: never) => (current[name as keyof Activities] as (given: never) => unknown)(input),
    ]),
  );
  const native = await NativeConnection.connect({ address: temporal.address });
  const connection = await Connection.connect({ address: temporal.address });
  const client = new TemporalClient({ connection, namespace: temporal.namespace });
  const workflowBundle = await bundleWorkflowCode({ ...workflowModules(), logger: SILENT });
  const workers = await Promise.all(
    TASK_QUEUES.map((taskQueue) =>
      Worker.create({
        connection: native,
        namespace: temporal.namespace,
        taskQueue,
        activities: proxy,
        // Some of the chosen activities never end by themselves.
        shutdownForceTime: 500,
        ...(taskQueue === 'jobs' ? { workflowBundle } : {}),
      }),
    ),
  );
  const running = Promise.allSettled(workers.map((worker) => worker.run()));
  return {
    client,
    workflowBundle,
    steps,
    async close() {
      for (const worker of workers) worker.shutdown();
      // Forced shutdown rejects. The activities have ended either way.
      await running;
      await connection.close();
      await native.close();
    },
    async play(activities, timing, webhook) {
      steps.length = 0;
      current = { ...happy(steps), ...activities };
      return await start(client, { ...inputOf({ ...TIMING, ...timing }), ...(webhook && { webhook }) });
    },
    attempts(deliverWebhook) {
      current = { ...happy(steps), deliverWebhook };
    },
    async playUnasked(timing, activities = {}) {
      steps.length = 0;
      current = { ...happy(steps), ...activities };
      const input = inputOf({ ...TIMING, ...timing });
      const handle = await client.workflow.start<GenerationWorkflow>(GENERATION_WORKFLOW, {
        workflowId: input.queueId,
        taskQueue: 'jobs',
        args: [input],
      });
      return { input, handle, result: () => handle.result() };
    },
  };
}

function inputOf(timing: GenerationTiming): GenerationInput {
  return {
    queueId: randomUUID(),
    accountId: '11111111-1111-4111-8111-111111111111',
    keyId: null,
    requestId: '0'.repeat(32),
    kind: 'voice-changer',
    modelId: 'a-model',
    provider: 'a-provider',
    providerQueue: 'providers',
    source: { from: 'upload', sizeBytes: 64_000, sha256: 'ab'.repeat(32) },
    voice: 'alto',
    removeBackgroundNoise: false,
    acceptBy: Date.now() + 60_000,
    timing,
  };
}

async function start(client: Client, input: GenerationInput): Promise<Play> {
  const operation = new WithStartWorkflowOperation<GenerationWorkflow>(GENERATION_WORKFLOW, {
    workflowId: input.queueId,
    workflowIdConflictPolicy: 'USE_EXISTING',
    taskQueue: 'jobs',
    args: [input],
  });
  const accepted = client.workflow.executeUpdateWithStart<GenerationWorkflow, AcceptResult, []>(ACCEPTED_UPDATE, {
    updateId: ACCEPTED_UPDATE,
    startWorkflowOperation: operation,
  });
  const handle = client.workflow.getHandle(input.queueId);
  // Polls, because the operation's own handle resolves with the answer or after the server's wait of 20 s.
  await expect
    .poll(() =>
      handle.describe().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  return { input, accepted, handle, result: () => handle.result() as Promise<GenerationResult> };
}

const quiet = () => undefined;
const SILENT = { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };
