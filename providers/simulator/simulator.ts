/**
 * A simulated generation service for tests, demonstrations and measurements. It calls nobody and changes no voice: its
 * output is a test tone as long as the source. What it does is fixed by its settings alone (domain/providerSettings.ts).
 *
 * It behaves as a foreign paid service does: not repeatable, an accepted submission stays accepted when its reply is
 * lost, and it can be asked by our reference unless `lookup` is off.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SimulatorBehaviour, SimulatorFault, SimulatorSettings } from '../../domain/providerSettings.ts';
import type {
  CallContext,
  GenerationProvider,
  OperationHandle,
  Outcome,
  VoiceChangeRequest,
} from '../provider.ts';
import { unserved } from '../unserved.ts';
import { behaviourOf, DEFAULT_DELAY_MS, REPLY_LOST, refusal, silence, strike } from './faults.ts';
import { type Order, type Orders, openOrders } from './orders.ts';
import { writeTone } from './tone.ts';

/** The longest pause that a running order asks for. */
const LONGEST_PAUSE_MS = 5_000;
const GARBAGE = 'Farebox simulator: these bytes are deliberately no audio.\n'.repeat(32);

/** `stateFolder`: see SimulatorSettings; given here with its default filled in. */
export function createSimulator(settings: SimulatorSettings, stateFolder: string): GenerationProvider {
  const orders = openOrders(stateFolder);
  const behaviour = (model: string) => behaviourOf(settings, model);
  const asked = settings.lookup || Object.values(settings.models).some((model) => model.lookup === true);
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind !== 'voice-changer') return unserved(request);
      return await submit(orders, behaviour(request.upstreamModel), { request, context });
    },
    check: (operation, context) => {
      const order = toOrder(operation);
      return poll(orders, behaviour(order.model), { order, context });
    },
    ...(asked && { find: (reference, context) => lookUp(orders, settings, { reference, context }) }),
  };
}

async function submit(
  orders: Orders,
  behaviour: SimulatorBehaviour,
  { request, context }: { request: VoiceChangeRequest; context: CallContext },
): Promise<Outcome> {
  const fault = await strike(orders, behaviour, { model: request.upstreamModel, stage: 'submit' });
  const refused = fault && refusal(fault.kind, fault.retryAfterMs);
  if (refused) return refused;
  const order = newOrder(request, behaviour, fault);
  await orders.accept(order);
  if (fault?.kind === 'reply-lost' || fault?.kind === 'late-success') return REPLY_LOST;
  if (fault?.kind === 'hang') return silence(context, fault.delayMs ?? DEFAULT_DELAY_MS);
  return progress(orders, behaviour, { order, context });
}

async function poll(
  orders: Orders,
  behaviour: SimulatorBehaviour,
  { order, context }: { order: Order; context: CallContext },
): Promise<Outcome> {
  const fault = await strike(orders, behaviour, { model: order.model, stage: 'poll' });
  if (fault?.kind === 'reply-lost') return REPLY_LOST;
  if (fault?.kind === 'hang') return silence(context, fault.delayMs ?? DEFAULT_DELAY_MS);
  const refused = fault && refusal(fault.kind, fault.retryAfterMs);
  if (refused) return refused;
  const lateMs = fault?.kind === 'late-success' ? (fault.delayMs ?? DEFAULT_DELAY_MS) : 0;
  const spoiled = spoiledBy(fault);
  return progress(orders, behaviour, {
    order: { ...order, readyAtMs: order.readyAtMs + lateMs, ...(spoiled && { spoiled }) },
    context,
    // The next question starts from the handle that the caller already has.
    operation: toOperation(order),
  });
}

/** `undefined` only where the service can be asked and knows that it never accepted the reference. */
async function lookUp(
  orders: Orders,
  settings: SimulatorSettings,
  { reference, context }: { reference: string; context: CallContext },
): Promise<Outcome | undefined> {
  const order = await orders.find(reference);
  const behaviour = order ? behaviourOf(settings, order.model) : settings;
  if (!behaviour.lookup) return { status: 'unknown', detail: 'simulated: no look-up by reference' };
  return order && progress(orders, behaviour, { order, context });
}

interface Step {
  order: Order;
  context: CallContext;
  operation?: OperationHandle;
}

/** Running until the time has come, then the configured end. */
async function progress(orders: Orders, behaviour: SimulatorBehaviour, step: Step): Promise<Outcome> {
  const { order } = step;
  const operation = step.operation ?? toOperation(order);
  const leftMs = order.readyAtMs - Date.now();
  const end = behaviour.outcome;
  if (leftMs > 0 || end === 'hang') {
    const lengthMs = Math.max(1, order.readyAtMs - order.acceptedAtMs);
    const percent = Math.max(0, Math.min(99, Math.floor(100 - (100 * leftMs) / lengthMs)));
    const retryAfterMs = leftMs > 0 ? Math.min(leftMs, LONGEST_PAUSE_MS) : LONGEST_PAUSE_MS;
    return { status: 'running', operation, retryAfterMs, percent };
  }
  if (end === 'done') return download(orders, behaviour, step);
  if (end === 'refused' || end === 'content_policy' || end === 'failed' || end === 'credential') {
    return refusal(end) ?? REPLY_LOST;
  }
  return download(orders, behaviour, { ...step, order: { ...order, spoiled: end } });
}

async function download(
  orders: Orders,
  behaviour: SimulatorBehaviour,
  { order, context, operation }: Step,
): Promise<Outcome> {
  const fault = await strike(orders, behaviour, { model: order.model, stage: 'download' });
  const refused = fault && refusal(fault.kind, fault.retryAfterMs);
  if (refused) return refused;
  if (fault?.kind === 'reply-lost') return REPLY_LOST;
  if (fault?.kind === 'hang') return silence(context, fault.delayMs ?? DEFAULT_DELAY_MS);
  if (fault?.kind === 'late-success' && Date.now() < order.readyAtMs + (fault.delayMs ?? DEFAULT_DELAY_MS)) {
    return { status: 'running', operation: operation ?? toOperation(order), retryAfterMs: LONGEST_PAUSE_MS };
  }
  const path = join(context.workFolder, 'simulated.wav');
  await writeOutput(path, order, spoiledBy(fault) ?? order.spoiled);
  const providerReference = `simulator:${order.reference}`;
  return { status: 'done', output: { path, contentType: 'audio/wav', providerReference } };
}

async function writeOutput(path: string, order: Order, spoiled: Order['spoiled']): Promise<void> {
  if (spoiled === 'garbage-output') return writeFile(path, GARBAGE);
  if (spoiled === 'empty-output') return writeFile(path, '');
  await writeTone(path, { ...order, cut: spoiled === 'truncated-output' });
}

function newOrder(
  request: VoiceChangeRequest,
  behaviour: SimulatorBehaviour,
  fault: SimulatorFault | undefined,
): Order {
  const acceptedAtMs = Date.now();
  const lateMs = fault?.kind === 'late-success' ? (fault.delayMs ?? DEFAULT_DELAY_MS) : 0;
  const spoiled = spoiledBy(fault);
  return {
    reference: request.reference,
    model: request.upstreamModel,
    acceptedAtMs,
    readyAtMs: acceptedAtMs + behaviour.latencyMs + lateMs,
    seconds: request.sourceSeconds,
    voice: request.voice,
    seed: request.seed ?? 0,
    ...(spoiled && { spoiled }),
  };
}

function spoiledBy(fault: SimulatorFault | undefined): Order['spoiled'] | undefined {
  const kind = fault?.kind;
  return kind === 'garbage-output' || kind === 'empty-output' || kind === 'truncated-output'
    ? kind
    : undefined;
}

/** The handle carries the whole order, so that any replica can answer by the clock alone. */
function toOperation(order: Order): OperationHandle {
  return { ...order };
}

function toOrder(operation: OperationHandle): Order {
  const { spoiled } = operation;
  return {
    reference: String(operation.reference),
    model: String(operation.model),
    acceptedAtMs: Number(operation.acceptedAtMs),
    readyAtMs: Number(operation.readyAtMs),
    seconds: Number(operation.seconds),
    voice: String(operation.voice),
    seed: Number(operation.seed),
    ...(isSpoiled(spoiled) && { spoiled }),
  };
}

function isSpoiled(value: unknown): value is NonNullable<Order['spoiled']> {
  return value === 'garbage-output' || value === 'empty-output' || value === 'truncated-output';
}
