/**
 * A simulated generation service for tests, demonstrations and measurements. It makes no calls; its outputs are a test
 * tone, a test melody and a test pattern. Only its settings determine its behaviour (providers/simulator/settings.ts).
 * It behaves as a foreign paid service: not repeatable, and an accepted submission stays accepted if its reply is lost.
 * Orders can be looked up by reference unless `lookup` is off.
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

/** Longest polling interval that a running order requests. */
const MAX_PAUSE_MS = 5_000;

export interface SimulatorMeans {
  /** As in SimulatorSettings, with the default filled in. */
  stateFolder: string;
  /** Its ffmpeg makes the videos. */
  tools: MediaTools;
}

/** Shared by all steps of an order. */
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

/** Without a queue the call lasts until the result. */
async function untilDone(service: SimulatorService, behaviour: SimulatorBehaviour, step: OrderStep): Promise<Outcome> {
  const { signal } = step.context;
  while (!signal.aborted) {
    const outcome = await progress(service, behaviour, step);
    if (outcome.status !== 'running') return outcome;
    await pause(step.context, outcome.retryAfterMs ?? MAX_PAUSE_MS);
  }
  // The order was accepted; only a lookup can find its outcome.
  return { status: 'unknown', detail: 'simulated: the call was given up before its answer' };
}

async function poll(service: SimulatorService, order: SimulatedOrder, context: CallContext): Promise<Outcome> {
  const behaviour = behaviourOf(service.settings, order.model);
  const fault = await applyFault(service.orders, behaviour, { model: order.model, stage: 'poll' });
  const answer = await endFaultyCall(fault, context);
  if (answer) return answer;
  const struck = { ...order, readyAtMs: order.readyAtMs + latenessOf(fault), ...spoiledBy(fault) };
  // The next poll uses the handle that the caller already has.
  return progress(service, behaviour, { order: struck, context, operation: toOperation(order) });
}

/** `undefined` only if lookup is on and the reference was never accepted. */
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

/** Running until the order is ready, then the configured end. */
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

/** The handle contains the whole order, so that any process needs only the clock to answer. */
function toOperation(order: SimulatedOrder): OperationHandle {
  return { ...order };
}

/** A cast at the workflow boundary: `toOperation` made the handle. */
function toOrder(operation: OperationHandle): SimulatedOrder {
  return operation as SimulatedOrder;
}
