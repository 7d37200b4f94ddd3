/**
 * Submits an order to its workflow and waits for the answer: charged and accepted, or the exact refusal with nothing
 * charged. A submission with the same queue_id is the same request, so a lost reply is requested once more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  isGrpcServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { FareboxError } from '../../domain/errors.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { Temporal } from '../../infra/temporal/connect.ts';
import {
  ACCEPTED_UPDATE,
  type AcceptResult,
  CALLED_BACK_SIGNAL,
  CANCEL_UPDATE,
  type CancelResult,
  COMPLETE_UPDATE,
  type CompleteRequest,
  type CompleteResult,
  GENERATION_WORKFLOW,
  type GenerationInput,
  type GenerationWorkflow,
  generationWorkflowId,
  SEARCH_ATTRIBUTES,
} from '../../workflows/contract.ts';
import type { CoreDependencies, JobDependencies } from '../dependencies.ts';

/** Time for which the client waits for the answer, and until which the workflow may charge. */
export const ACCEPT_LIMIT_MS = 60_000;
/** Time for which an unreachable server is tried before the client gets an error. */
const UNREACHABLE_LIMIT_MS = 8_000;
const RETRY_PAUSE_MS = 250;
const WORKFLOW_TASK_LIMIT_MS = 5_000;

const UNAVAILABLE = {
  code: 'unavailable',
  message: 'Jobs cannot be accepted at the moment. Nothing was charged; please try again.',
  retryAfterSeconds: 5,
} as const;

/** `acceptBy` of an order is a time of the database, which decides by it. */
interface GenerationClient {
  core: Pick<CoreDependencies, 'clock'>;
  jobs: Pick<JobDependencies, 'temporal'>;
}

/**
 * Throws FareboxError `unavailable` when there is no answer in time; `ended` when this queue_id was already refused.
 * After `unavailable` the order may have arrived all the same: the caller closes it before the client gets the error.
 */
export async function submitGeneration(
  { core: { clock }, jobs: { temporal } }: GenerationClient,
  input: GenerationInput,
): Promise<AcceptResult | 'ended'> {
  const unreachableAt = clock.now() + UNREACHABLE_LIMIT_MS;
  for (;;) {
    try {
      const timeoutMs = Math.max(1_000, input.acceptBy - clock.now());
      await failpoint('start-sent');
      const answer = await temporal.within(timeoutMs, (client) => ask(client, input));
      await failpoint('workflow-started');
      return answer;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'ended';
      const now = clock.now();
      if (!isTransient(error) || now > input.acceptBy || (isUnreachable(error) && now > unreachableAt)) {
        throw new FareboxError({ ...UNAVAILABLE, cause: error });
      }
      await sleep(RETRY_PAUSE_MS);
    }
  }
}

function ask(client: Client, input: GenerationInput): Promise<AcceptResult> {
  return client.workflow.executeUpdateWithStart<GenerationWorkflow, AcceptResult, []>(ACCEPTED_UPDATE, {
    updateId: ACCEPTED_UPDATE,
    startWorkflowOperation: new WithStartWorkflowOperation(GENERATION_WORKFLOW, {
      workflowId: generationWorkflowId(input.queueId),
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      taskQueue: 'jobs',
      // The first step, the charge, runs within a workflow task: a worker that dies in it is replaced this soon.
      workflowTaskTimeout: WORKFLOW_TASK_LIMIT_MS,
      args: [input],
      priority: { fairnessKey: input.accountId },
      staticSummary: `${input.kind} · ${input.modelId} · account ${input.accountId}`,
      staticDetails: detailsOf(input),
      searchAttributes: {
        [SEARCH_ATTRIBUTES.account]: [input.accountId],
        [SEARCH_ATTRIBUTES.model]: [input.modelId],
        [SEARCH_ATTRIBUTES.kind]: [input.kind],
        [SEARCH_ATTRIBUTES.provider]: [input.provider],
        [SEARCH_ATTRIBUTES.state]: ['accepting'],
      },
    }),
  });
}

/** Details for operators that need no worker to be read. */
function detailsOf(input: GenerationInput): string {
  const voice = input.kind === 'voice-changer' ? `, voice ${input.voice}` : '';
  return [
    `- account: ${input.accountId}`,
    `- key: ${input.keyId ?? 'none'}`,
    `- model: ${input.modelId} at ${input.provider}${voice}`,
    `- request: ${input.requestId}`,
  ].join('\n');
}

/** Asks a running job to stop. Undefined when the workflow is gone: its row then says how it ended. */
export async function cancelGeneration(temporal: Temporal, queueId: string): Promise<CancelResult | undefined> {
  return await command<CancelResult>(temporal, queueId, { update: CANCEL_UPDATE });
}

/**
 * Reports that the client is done with the media. Undefined when the workflow is gone. `stored`: there is media
 * already, and `deleted` then means that it is gone.
 */
export async function completeGeneration(
  temporal: Temporal,
  queueId: string,
  request: CompleteRequest,
): Promise<CompleteResult | undefined> {
  return await command<CompleteResult>(temporal, queueId, { update: COMPLETE_UPDATE, request });
}

const COMMAND_LIMIT_MS = 15_000;

async function command<Result>(
  temporal: Temporal,
  queueId: string,
  { update, request }: { update: string; request?: CompleteRequest },
): Promise<Result | undefined> {
  const deadline = Date.now() + COMMAND_LIMIT_MS;
  for (;;) {
    try {
      return await temporal.within(Math.max(500, deadline - Date.now()), (client) => {
        const handle = client.workflow.getHandle(generationWorkflowId(queueId));
        if (request === undefined) return handle.executeUpdate<Result, []>(update);
        return handle.executeUpdate<Result, [CompleteRequest]>(update, { args: [request] });
      });
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      if (!isTransient(error) || Date.now() > deadline - RETRY_PAUSE_MS) {
        const message = 'The job cannot be reached at the moment; please try again.';
        throw new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 5, cause: error });
      }
      await sleep(RETRY_PAUSE_MS);
    }
  }
}

const WAKE_LIMIT_MS = 3_000;

/** Ends the pause of a job before the next request to its provider; an ended job has none. */
export async function wakeGeneration(temporal: Temporal, queueId: string): Promise<void> {
  try {
    await temporal.within(WAKE_LIMIT_MS, (client) =>
      client.workflow.getHandle(generationWorkflowId(queueId)).signal(CALLED_BACK_SIGNAL),
    );
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

const TRANSIENT = new Set([
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
  'RESOURCE_EXHAUSTED',
  'ABORTED',
  'INTERNAL',
]);
const GRPC_NAMES: Record<number, string> = {
  1: 'CANCELLED',
  4: 'DEADLINE_EXCEEDED',
  8: 'RESOURCE_EXHAUSTED',
  10: 'ABORTED',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
};

function grpcName(error: unknown): string | undefined {
  const service = isGrpcServiceError(error) ? error : error instanceof Error ? error.cause : undefined;
  return isGrpcServiceError(service) ? GRPC_NAMES[service.code] : undefined;
}

function isTransient(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return true;
  const name = grpcName(error);
  return name !== undefined && TRANSIENT.has(name);
}

function isUnreachable(error: unknown): boolean {
  return grpcName(error) === 'UNAVAILABLE';
}
