/** Selects the configured fault of a call, and its result for the caller. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallContext, Outcome } from '../shared/provider.ts';
import type { OrderStore } from './orders.ts';
import type { SimulatorBehaviour, SimulatorFault, SimulatorSettings, SimulatorStage } from './settings.ts';

const DEFAULT_DELAY_MS = 60_000;
const HEARTBEAT_MS = 1_000;

export function behaviourOf(settings: SimulatorSettings, model: string): SimulatorBehaviour {
  const own = Object.hasOwn(settings.models, model) ? settings.models[model] : undefined;
  return { ...settings, ...own };
}

/** Returns the stage's first fault that is due. Counts calls only if a fault does not apply to each. */
export async function applyFault(
  orders: OrderStore,
  behaviour: SimulatorBehaviour,
  call: { model: string; stage: SimulatorStage },
): Promise<SimulatorFault | undefined> {
  const faults = behaviour.faults.filter((fault) => fault.at === call.stage);
  if (faults.length === 0) return undefined;
  const counted = faults.some((fault) => fault.every > 1);
  const turn = counted ? await orders.count(`${call.model}-${call.stage}`) : 1;
  return faults.find((fault) => turn % fault.every === 0);
}

const REFUSALS = {
  refused: { reason: 'refused', message: 'Simulated refusal of the order.' },
  content_policy: { reason: 'content_policy', message: 'Simulated content policy refusal.' },
  failed: { reason: 'failed', message: 'Simulated failure of the service.' },
  credential: { reason: 'credential', message: 'Simulated refusal of the credential.' },
} as const;
const BUSY = { busy: 'concurrency', overloaded: 'overloaded', rate_limited: 'rate_limited' } as const;

type OrderEnd = Pick<SimulatorFault, 'retryAfterMs'> & {
  kind: SimulatorFault['kind'] | SimulatorBehaviour['outcome'];
};

/** Refusal of an order at any stage. Undefined: the order continues. */
export function refusal({ kind, retryAfterMs }: OrderEnd): Outcome | undefined {
  if (kind in REFUSALS) return { status: 'refused', ...REFUSALS[kind as keyof typeof REFUSALS] };
  if (kind in BUSY) {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { status: 'busy', reason: BUSY[kind as keyof typeof BUSY], ...wait };
  }
  return kind === 'request-lost'
    ? { status: 'unknown', detail: 'simulated: the request was lost on its way' }
    : undefined;
}

/** Ends a faulty call of an accepted order. Undefined: the order continues. */
export async function endFaultyCall(
  fault: SimulatorFault | undefined,
  context: CallContext,
): Promise<Outcome | undefined> {
  if (fault?.kind === 'reply-lost') return { status: 'unknown', detail: 'simulated: the reply was lost' };
  if (fault?.kind !== 'hang') return fault && refusal(fault);
  // A working process sends heartbeats until the caller gives up.
  await pause(context, delayOf(fault));
  return { status: 'unknown', detail: 'simulated: no answer came' };
}

function delayOf({ delayMs = DEFAULT_DELAY_MS }: SimulatorFault): number {
  return delayMs;
}

/** Delay of the output in milliseconds. */
export function latenessOf(fault: SimulatorFault | undefined): number {
  return fault?.kind === 'late-success' ? delayOf(fault) : 0;
}

/** Waits until the time is over or the call is aborted. */
export async function pause(context: CallContext, delayMs: number): Promise<void> {
  const endMs = Date.now() + delayMs;
  while (!context.signal.aborted && Date.now() < endMs) {
    context.heartbeat();
    const pauseMs = Math.max(1, Math.min(HEARTBEAT_MS, endMs - Date.now()));
    await sleep(pauseMs, undefined, { signal: context.signal }).catch(() => undefined);
  }
}
