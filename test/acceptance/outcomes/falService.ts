/** fal stub for one row, and functions that describe its behaviour. */
import { connect, createServer as listenRaw } from 'node:net';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import { type FalStub, startFalStub } from '../../stubs/fal/fal.ts';
import type { FalFault, FalStage } from '../../stubs/fal/faults.ts';
import { FILM, SONG } from './media.ts';
import { always, type Ending, type OutcomeRow, type RowOptions, type RowService } from './row.ts';
import { TIMEOUTS } from './timing.ts';

const MODELS = { audio: 'fal-ai/stable-audio-25/text-to-audio', video: 'wan/v2.6/text-to-video' };

export interface FalPlan extends RowOptions {
  does?(stub: FalStub): void;
  faults?: { [Stage in FalStage]?: FalFault[] };
  /** Time during which its address refuses connections. May be infinite. */
  refusesForMs?: number;
}

export function fal(when: string, end: Ending, plan: FalPlan = {}): OutcomeRow {
  const { kind = 'audio', prompt = 'calm rain, far away', accepted = 1, mostAsked = 1 } = plan;
  const start = () => startRow(plan, kind);
  return { when, service: 'fal', kind, prompt, start, end, accepted, mostAsked };
}

async function startRow(plan: FalPlan, kind: 'audio' | 'video'): Promise<RowService> {
  const stub = await startFalStub();
  const gate = plan.refusesForMs === undefined ? undefined : await openLater(stub, plan.refusesForMs);
  stub.output = kind === 'audio' ? SONG : FILM;
  Object.assign(stub.faults, plan.faults);
  plan.does?.(stub);
  return {
    entry: {
      kind: 'fal',
      baseUrl: stub.baseUrl,
      apiKeyEnv: 'OUTCOMES_FAL_KEY',
      allowPrivateNetwork: true,
      callbacks: true,
      timeouts: TIMEOUTS,
    },
    upstreamModel: MODELS[kind],
    accepted: () => stub.orders.length,
    asked: () => stub.calls.filter(({ method }) => method === 'POST').length,
    fal: stub,
    async close() {
      gate?.close();
      await stub.close();
    },
  };
}

/** Gives the stub an address that refuses connections until the time is over. */
async function openLater(stub: FalStub, refusesForMs: number): Promise<{ close(): void }> {
  const [port] = await freePorts(1);
  const { port: stubPort } = new URL(stub.baseUrl);
  stub.baseUrl = `http://127.0.0.1:${port}`;
  const gate = listenRaw((client) => {
    const upstream = connect(Number(stubPort), '127.0.0.1');
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    client.pipe(upstream).pipe(client);
  });
  let timer: NodeJS.Timeout | undefined;
  if (Number.isFinite(refusesForMs)) timer = setTimeout(() => gate.listen(port, '127.0.0.1'), refusesForMs);
  return {
    close() {
      clearTimeout(timer);
      if (gate.listening) gate.close();
    },
  };
}

export function reply(status: number, body?: unknown, headers?: Record<string, string>): FalFault {
  return { kind: 'reply', status, body, ...(headers && { headers }) };
}

/** Faults the first response of a stage. Later ones are correct. */
export const once = (stage: FalStage, fault: FalFault): FalPlan => ({ faults: { [stage]: [fault] } });
export const times = (count: number, stage: FalStage, fault: FalFault): FalPlan => ({
  faults: { [stage]: Array.from({ length: count }, () => fault) },
});
export const forGood = (stage: FalStage, fault: FalFault): FalPlan => ({
  faults: { [stage]: always(fault) },
});
export const ending = (status: number, body: unknown): FalPlan => ({
  does(stub) {
    stub.result = { status, body };
  },
});
/** Error body in which models name an invalid field. */
export const fields = (type: string, msg: string) => ({ detail: [{ loc: ['body', 'prompt'], msg, type }] });
