/** Runs jobs in a service's queue: every reply, and every lost one, becomes an outcome. */
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import type { CallContext, FailedOutcome, GenerationProvider, OperationHandle, Outcome } from './provider.ts';
import type { QueueState, ServiceQueue } from './waitFor.ts';

export type MediumKind = 'audio' | 'video';

interface QueuedWork<Order, Ticket extends OperationHandle, Result> {
  queue: ServiceQueue<Order, Ticket, Result>;
  /** Undefined: not a handle of this adapter. */
  readHandle(operation: OperationHandle): QueueHandle<Ticket> | undefined;
  /** Downloads the output of a succeeded order. */
  deliver(result: Result, handle: QueueHandle<Ticket>, context: CallContext): Promise<Outcome>;
}

export type QueueHandle<Ticket> = Ticket & { kind: MediumKind };

interface QueuedJobs<Order> extends Required<Pick<GenerationProvider, 'check' | 'cancel'>> {
  submit(order: Order, kind: MediumKind, context: CallContext): Promise<Outcome>;
}

export function createQueuedJobs<Order, Ticket extends OperationHandle, Result>(
  work: QueuedWork<Order, Ticket, Result>,
): QueuedJobs<Order> {
  const { queue } = work;
  const conclude = async (
    state: QueueState<Ticket, Result>,
    kind: MediumKind,
    context: CallContext,
  ): Promise<Outcome> => {
    if (!('ticket' in state)) return state;
    const handle = { ...state.ticket, kind };
    if (state.status === 'succeeded') return await work.deliver(state.result, handle, context);
    return { status: 'running', operation: handle, percent: state.percent };
  };
  return {
    async submit(order, kind, context) {
      const state = await queue.submit(order, context.signal).catch(outcomeOfLostOrder);
      return await conclude(state, kind, context);
    },
    async check(operation, context) {
      const handle = work.readHandle(operation);
      if (handle === undefined) return NOT_OURS;
      const state = await queue.check(handle, context.signal).catch(outcomeOfLostAnswer);
      return await conclude(state, handle.kind, context);
    },
    async cancel(operation, { signal }) {
      const handle = work.readHandle(operation);
      if (handle === undefined) return false;
      return await queue.cancel(handle, signal).catch((error: unknown) => {
        if (!(error instanceof ServiceHttpError)) throw error;
        return false;
      });
    },
  };
}

const NOT_OURS: FailedOutcome = {
  status: 'refused',
  reason: 'failed',
  message: 'The media service delivered no usable output.',
  detail: 'the handle is not one of ours',
};

/** Only an order that was certainly not sent may be submitted again. */
export function outcomeOfLostOrder(error: unknown): FailedOutcome {
  if (!(error instanceof ServiceHttpError)) throw error;
  const { message: detail, sent } = error;
  // Connection refused, name not resolved, or no TLS: nothing was accepted.
  return sent === 'not_sent' ? { status: 'busy', reason: 'overloaded', detail } : { status: 'unknown', detail };
}

/** Outcome of a failed poll, which is repeated later. */
function outcomeOfLostAnswer(error: unknown): FailedOutcome {
  if (!(error instanceof ServiceHttpError)) throw error;
  return { status: 'unknown', detail: error.message };
}
