/** Which configured fault strikes a call, and what the caller hears then. */
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  SimulatorBehaviour,
  SimulatorFault,
  SimulatorFaultKind,
  SimulatorSettings,
  SimulatorStage,
} from '../../domain/providerSettings.ts';
import type { CallContext, Outcome } from '../shared/provider.ts';
import type { Orders } from './orders.ts';

export const DEFAULT_DELAY_MS = 60_000;
const HEARTBEAT_MS = 1_000;

export function behaviourOf(settings: SimulatorSettings, model: string): SimulatorBehaviour {
  const own = Object.hasOwn(settings.models, model) ? settings.models[model] : undefined;
  return { ...settings, ...own };
}

/** The first fault of the stage whose turn it is. Calls are only counted where a fault strikes less than always. */
export async function strike(
  orders: Orders,
  behaviour: SimulatorBehaviour,
  call: { model: string; stage: SimulatorStage },
): Promise<SimulatorFault | undefined> {
  const faults = behaviour.faults.filter((fault) => fault.at === call.stage);
  if (faults.length === 0) return undefined;
  const counted = faults.some((fault) => fault.every > 1);
  const turn = counted ? await orders.count(`${call.model}-${call.stage}`) : 1;
  return faults.find((fault) => turn % fault.every === 0);
}

/** What an order is refused with, whatever the stage. Undefined for a fault that lets the order go on. */
export function refusal(kind: SimulatorFaultKind, retryAfterMs?: number): Outcome | undefined {
  const pause = retryAfterMs === undefined ? {} : { retryAfterMs };
  switch (kind) {
    case 'refused':
      return { status: 'refused', reason: 'refused', message: 'Simulated refusal of the order.' };
    case 'content_policy':
      return { status: 'refused', reason: 'content_policy', message: 'Simulated content policy refusal.' };
    case 'failed':
      return { status: 'refused', reason: 'failed', message: 'Simulated failure of the service.' };
    case 'credential':
      return { status: 'refused', reason: 'credential', message: 'Simulated refusal of the credential.' };
    case 'busy':
      return { status: 'busy', reason: 'concurrency', ...pause };
    case 'overloaded':
      return { status: 'busy', reason: 'overloaded', ...pause };
    case 'rate_limited':
      return { status: 'busy', reason: 'rate_limited', ...pause };
    case 'request-lost':
      return { status: 'unknown', detail: 'simulated: the request was lost on its way' };
    default:
      return undefined;
  }
}

export const REPLY_LOST = { status: 'unknown', detail: 'simulated: the reply was lost' } satisfies Outcome;

/** Says nothing until the caller's patience ends; a living worker goes on telling that it lives. */
export async function silence(context: CallContext, delayMs: number): Promise<Outcome> {
  await pause(context, delayMs);
  return { status: 'unknown', detail: 'simulated: no answer came' };
}

/** Until the time is over or the call is given up. */
export async function pause(context: CallContext, delayMs: number): Promise<void> {
  const endMs = Date.now() + delayMs;
  while (!context.signal.aborted && Date.now() < endMs) {
    context.heartbeat();
    const pauseMs = Math.max(1, Math.min(HEARTBEAT_MS, endMs - Date.now()));
    await sleep(pauseMs, undefined, { signal: context.signal }).catch(() => undefined);
  }
}
