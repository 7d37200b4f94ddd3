/**
 * A simulated generation service for tests, demonstrations and measurements. It calls nobody, changes no
 * voice, composes and films nothing: its outputs are a test tone, a test melody and a test pattern. What it does is fixed by its settings alone (domain/providerSettings.ts).
 *
 * It behaves as a foreign paid service does: not repeatable, an accepted submission stays accepted when its reply is
 * lost, and it can be asked by our reference unless `lookup` is off.
 */

import type { SimulatorBehaviour, SimulatorFault, SimulatorSettings } from '../../domain/providerSettings.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type {
  CallContext,
  GenerationProvider,
  GenerationRequest,
  OperationHandle,
  Outcome,
} from '../shared/provider.ts';
import { behaviourOf, DEFAULT_DELAY_MS, pause, REPLY_LOST, refusal, silence, strike } from './faults.ts';
import { type OrderedOutput, orderedOutput, outputIn, type Spoiled, writeOutput } from './orderedOutput.ts';
import { type Order, type Orders, openOrders } from './orders.ts';

/** The longest pause that a running order asks for. */
const LONGEST_PAUSE_MS = 5_000;

export interface SimulatorMeans {
  /** See SimulatorSettings; given here with its default filled in. */
  stateFolder: string;
  /** Its ffmpeg makes the videos. */
  tools: MediaTools;
}

/** What every step of an order needs. */
interface Service {
  orders: Orders;
  settings: SimulatorSettings;
  tools: MediaTools;
}

export function createSimulator(
  settings: SimulatorSettings,
  { stateFolder, tools }: SimulatorMeans,
): GenerationProvider {
  const service = { orders: openOrders(stateFolder), settings, tools };
  const behaviour = (model: string) => behaviourOf(settings, model);
  const asked = settings.lookup || Object.values(settings.models).some((model) => model.lookup === true);
  return {
    repeatable: false,
    async start(request, context) {
      const output = orderedOutput(request);
      if (typeof output === 'string') {
        return { status: 'refused', reason: 'refused', message: output };
      }
      return await submit(service, behaviour(request.upstreamModel), { request, output, context });
    },
    check: (operation, context) => {
      const order = toOrder(operation);
      return poll(service, behaviour(order.model), { order, context });
    },
    ...(asked && { find: (reference, context) => lookUp(service, reference, context) }),
  };
}

interface Submission {
  request: GenerationRequest;
  output: OrderedOutput;
  context: CallContext;
}

async function submit(
  service: Service,
  behaviour: SimulatorBehaviour,
  { request, output, context }: Submission,
): Promise<Outcome> {
  const { orders } = service;
  const fault = await strike(orders, behaviour, { model: request.upstreamModel, stage: 'submit' });
  const refused = fault && refusal(fault.kind, fault.retryAfterMs);
  if (refused) return refused;
  const order = { ...output, ...termsOf(request, behaviour, fault) };
  await orders.accept(order);
  if (fault?.kind === 'reply-lost' || fault?.kind === 'late-success') return REPLY_LOST;
  if (fault?.kind === 'hang') return silence(context, fault.delayMs ?? DEFAULT_DELAY_MS);
  const step = { order, context };
  return behaviour.synchronous ? untilDone(service, behaviour, step) : progress(service, behaviour, step);
}

/** A service without a queue keeps the caller on the line for as long as it works. */
async function untilDone(service: Service, behaviour: SimulatorBehaviour, step: Step): Promise<Outcome> {
  const { signal } = step.context;
  while (!signal.aborted) {
    const outcome = await progress(service, behaviour, step);
    if (outcome.status !== 'running') return outcome;
    await pause(step.context, outcome.retryAfterMs ?? LONGEST_PAUSE_MS);
  }
  // The order was accepted; what became of it can only be asked.
  return { status: 'unknown', detail: 'simulated: the call was given up before its answer' };
}

async function poll(
  service: Service,
  behaviour: SimulatorBehaviour,
  { order, context }: { order: Order; context: CallContext },
): Promise<Outcome> {
  const fault = await strike(service.orders, behaviour, { model: order.model, stage: 'poll' });
  if (fault?.kind === 'reply-lost') return REPLY_LOST;
  if (fault?.kind === 'hang') return silence(context, fault.delayMs ?? DEFAULT_DELAY_MS);
  const refused = fault && refusal(fault.kind, fault.retryAfterMs);
  if (refused) return refused;
  const lateMs = fault?.kind === 'late-success' ? (fault.delayMs ?? DEFAULT_DELAY_MS) : 0;
  const spoiled = spoiledBy(fault);
  return progress(service, behaviour, {
    order: { ...order, readyAtMs: order.readyAtMs + lateMs, ...(spoiled && { spoiled }) },
    context,
    // The next question starts from the handle that the caller already has.
    operation: toOperation(order),
  });
}

/** `undefined` only where the service can be asked and knows that it never accepted the reference. */
async function lookUp(
  service: Service,
  reference: string,
  context: CallContext,
): Promise<Outcome | undefined> {
  const { orders, settings } = service;
  const order = await orders.find(reference);
  const behaviour = order ? behaviourOf(settings, order.model) : settings;
  if (!behaviour.lookup) return { status: 'unknown', detail: 'simulated: no look-up by reference' };
  return order && progress(service, behaviour, { order, context });
}

interface Step {
  order: Order;
  context: CallContext;
  operation?: OperationHandle;
}

/** Running until the time has come, then the configured end. */
async function progress(service: Service, behaviour: SimulatorBehaviour, step: Step): Promise<Outcome> {
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
  if (end === 'done') return download(service, behaviour, step);
  if (end === 'refused' || end === 'content_policy' || end === 'failed' || end === 'credential') {
    return refusal(end) ?? REPLY_LOST;
  }
  return download(service, behaviour, { ...step, order: { ...order, spoiled: end } });
}

async function download(
  { orders, tools }: Service,
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
  const means = { ffmpegPath: tools.ffmpegPath, context };
  const output = await writeOutput(order, spoiledBy(fault) ?? order.spoiled, means);
  return { status: 'done', output: { ...output, providerReference: `simulator:${order.reference}` } };
}

/** When the order is ready, and in what state. */
function termsOf(
  request: GenerationRequest,
  behaviour: SimulatorBehaviour,
  fault: SimulatorFault | undefined,
) {
  const acceptedAtMs = Date.now();
  const lateMs = fault?.kind === 'late-success' ? (fault.delayMs ?? DEFAULT_DELAY_MS) : 0;
  const spoiled = spoiledBy(fault);
  return {
    reference: request.reference,
    model: request.upstreamModel,
    acceptedAtMs,
    readyAtMs: acceptedAtMs + behaviour.latencyMs + lateMs,
    ...(spoiled && { spoiled }),
  };
}

function spoiledBy(fault: SimulatorFault | undefined): Spoiled | undefined {
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
    ...outputIn(operation),
    reference: String(operation.reference),
    model: String(operation.model),
    acceptedAtMs: Number(operation.acceptedAtMs),
    readyAtMs: Number(operation.readyAtMs),
    ...(isSpoiled(spoiled) && { spoiled }),
  };
}

function isSpoiled(value: unknown): value is Spoiled {
  return value === 'garbage-output' || value === 'empty-output' || value === 'truncated-output';
}
