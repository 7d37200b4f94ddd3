/**
 * A simulated generation service for tests, demonstrations and measurements. It calls nobody, changes no voice, composes and
 * films nothing: its outputs are a test tone, a test melody and a test pattern. What it does is fixed by its settings alone
 * (providers/simulator/settings.ts).
 *
 * It behaves as a foreign paid service does: not repeatable, an accepted submission stays accepted when its reply is
 * lost, and it can be asked by our reference unless `lookup` is off.
 */

import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type {
  CallContext,
  GenerationProvider,
  GenerationRequest,
  OperationHandle,
  Outcome,
} from '../shared/provider.ts';
import { applyFault, behaviourOf, endFaultyCall, latenessOf, pause, refusal } from './faults.ts';
import { orderedOutput, type SpoiledOutput, writeOutput } from './orderedOutput.ts';
import { type OrderStore, openOrders, type SimulatedOrder } from './orders.ts';
import type { SimulatorBehaviour, SimulatorSettings } from './settings.ts';

/** The longest pause that a running order asks for. */
const MAX_PAUSE_MS = 5_000;

export interface SimulatorMeans {
  /** See SimulatorSettings; given here with its default filled in. */
  stateFolder: string;
  /** Its ffmpeg makes the videos. */
  tools: MediaTools;
}

/** What every step of an order needs. */
interface SimulatorService {
  orders: OrderStore;
  settings: SimulatorSettings;
  tools: MediaTools;
}

export function createSimulator(
  settings: SimulatorSettings,
  { stateFolder, tools }: SimulatorMeans,
): GenerationProvider {
  const service = { orders: openOrders(stateFolder), settings, tools };
  const asked = settings.lookup || Object.values(settings.models).some((model) => model.lookup === true);
  return {
    repeatable: false,
    start: (request, context) => submit(service, request, context),
    check: (operation, context) => poll(service, toOrder(operation), context),
    ...(asked && { find: (reference, context) => lookUp(service, reference, context) }),
  };
}

async function submit(service: SimulatorService, request: GenerationRequest, context: CallContext): Promise<Outcome> {
  const { orders, settings } = service;
  const { upstreamModel: model, reference } = request;
  const output = orderedOutput(request);
  if (typeof output === 'string') return { status: 'refused', reason: 'refused', message: output };
  const behaviour = behaviourOf(settings, model);
  const fault = await applyFault(orders, behaviour, { model, stage: 'submit' });
  const refused = fault && refusal(fault);
  if (refused) return refused;
  const acceptedAtMs = Date.now();
  const readyAtMs = acceptedAtMs + behaviour.latencyMs + latenessOf(fault);
  const order = { ...output, reference, model, acceptedAtMs, readyAtMs, ...spoiledBy(fault) };
  await orders.accept(order);
  const answer = await endFaultyCall(
    fault?.kind === 'late-success' ? { ...fault, kind: 'reply-lost' } : fault,
    context,
  );
  if (answer) return answer;
  const step = { order, context };
  return behaviour.synchronous ? untilDone(service, behaviour, step) : progress(service, behaviour, step);
}

/** A service without a queue keeps the caller on the line for as long as it works. */
async function untilDone(service: SimulatorService, behaviour: SimulatorBehaviour, step: OrderStep): Promise<Outcome> {
  const { signal } = step.context;
  while (!signal.aborted) {
    const outcome = await progress(service, behaviour, step);
    if (outcome.status !== 'running') return outcome;
    await pause(step.context, outcome.retryAfterMs ?? MAX_PAUSE_MS);
  }
  // The order was accepted; what became of it can only be asked.
  return { status: 'unknown', detail: 'simulated: the call was given up before its answer' };
}

async function poll(service: SimulatorService, order: SimulatedOrder, context: CallContext): Promise<Outcome> {
  const behaviour = behaviourOf(service.settings, order.model);
  const fault = await applyFault(service.orders, behaviour, { model: order.model, stage: 'poll' });
  const answer = await endFaultyCall(fault, context);
  if (answer) return answer;
  const struck = { ...order, readyAtMs: order.readyAtMs + latenessOf(fault), ...spoiledBy(fault) };
  // The next question starts from the handle that the caller already has.
  return progress(service, behaviour, { order: struck, context, operation: toOperation(order) });
}

/** `undefined` only where the service can be asked and knows that it never accepted the reference. */
async function lookUp(
  service: SimulatorService,
  reference: string,
  context: CallContext,
): Promise<Outcome | undefined> {
  const { orders, settings } = service;
  const order = await orders.find(reference);
  const behaviour = order ? behaviourOf(settings, order.model) : settings;
  if (!behaviour.lookup) return { status: 'unknown', detail: 'simulated: no look-up by reference' };
  return order && progress(service, behaviour, { order, context });
}

interface OrderStep {
  order: SimulatedOrder;
  context: CallContext;
  operation?: OperationHandle;
}

/** Running until the time has come, then the configured end. */
async function progress(service: SimulatorService, behaviour: SimulatorBehaviour, step: OrderStep): Promise<Outcome> {
  const { order } = step;
  const operation = step.operation ?? toOperation(order);
  const leftMs = order.readyAtMs - Date.now();
  const { outcome: end } = behaviour;
  if (leftMs > 0 || end === 'hang') {
    const lengthMs = Math.max(1, order.readyAtMs - order.acceptedAtMs);
    const percent = Math.max(0, Math.min(99, Math.floor(100 - (100 * leftMs) / lengthMs)));
    const retryAfterMs = leftMs > 0 ? Math.min(leftMs, MAX_PAUSE_MS) : MAX_PAUSE_MS;
    return { status: 'running', operation, retryAfterMs, percent };
  }
  const ended = { ...order, ...spoiledBy({ kind: end }) };
  return refusal({ kind: end }) ?? download(service, behaviour, { ...step, order: ended, operation });
}

async function download(
  { orders, tools }: SimulatorService,
  behaviour: SimulatorBehaviour,
  { order, context, operation }: Required<OrderStep>,
): Promise<Outcome> {
  const fault = await applyFault(orders, behaviour, { model: order.model, stage: 'download' });
  const answer = await endFaultyCall(fault, context);
  if (answer) return answer;
  if (Date.now() < order.readyAtMs + latenessOf(fault)) {
    return { status: 'running', operation, retryAfterMs: MAX_PAUSE_MS };
  }
  const spoiled = spoiledBy(fault).spoiled ?? order.spoiled;
  const output = await writeOutput(order, spoiled, { ffmpegPath: tools.ffmpegPath, context });
  return { status: 'done', output: { ...output, providerReference: `simulator:${order.reference}` } };
}

/** Damage to the output by a fault or the configured end. */
function spoiledBy(cause: { kind: string } | undefined): { spoiled?: SpoiledOutput } {
  const kind = cause?.kind;
  const spoils = kind === 'garbage-output' || kind === 'empty-output' || kind === 'truncated-output';
  return spoils ? { spoiled: kind } : {};
}

/** The handle carries the whole order, so that any replica can answer by the clock alone. */
function toOperation(order: SimulatedOrder): OperationHandle {
  return { ...order };
}

/** A cast at the boundary of the workflow: the handle is what `toOperation` made. */
function toOrder(operation: OperationHandle): SimulatedOrder {
  return operation as SimulatedOrder;
}
