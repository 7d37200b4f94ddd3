/** Settings of an entry of the kind `simulator`. */
import { z } from 'zod';
import { count, filePath, modelId, strictObject } from '../../infra/config/schema/primitives.ts';
import { limits } from '../shared/settings.ts';

/** Where a simulated fault strikes: while an order is handed in, while it is asked about, or while its output is fetched. */
export const SIMULATOR_STAGES = ['submit', 'poll', 'download'] as const;
export type SimulatorStage = (typeof SIMULATOR_STAGES)[number];

/** How a simulated order ends when no fault strikes it. `hang`: it runs for ever. */
export const SIMULATOR_OUTCOMES = [
  'done',
  'refused',
  'content_policy',
  'failed',
  'credential',
  'hang',
  'garbage-output',
  'empty-output',
  'truncated-output',
] as const;

export const SIMULATOR_FAULTS = [
  /** The service did its part, the caller never learns: answered `unknown`. At submit the order is accepted. */
  'reply-lost',
  /** The request never arrived, the caller cannot tell: answered `unknown`. At submit nothing is accepted. */
  'request-lost',
  /** Refused as a wrong order. */
  'refused',
  'content_policy',
  'failed',
  /** Our credential is not accepted. */
  'credential',
  /** Not accepted: too many at once. */
  'busy',
  /** Not accepted: the whole service is overloaded. */
  'overloaded',
  /** Not accepted: too many in this minute. */
  'rate_limited',
  /** Silence for `delayMs` (or until the call is given up), then `unknown`. At submit the order is accepted. */
  'hang',
  /** Accepted, the reply lost, and the output ready only `delayMs` later than usual; at poll: later by `delayMs`. */
  'late-success',
  /** The order succeeds and its output is neither audio nor video, empty, or cut in the middle. */
  'garbage-output',
  'empty-output',
  'truncated-output',
] as const;

const fault = strictObject({
  at: z.enum(SIMULATOR_STAGES),
  kind: z.enum(SIMULATOR_FAULTS),
  /** Strikes every N-th call of its stage (per provider entry and model, over all processes); 1 is each. */
  every: count(1, 1_000_000).default(1),
  /** For `hang` and `late-success`; default 60,000. */
  delayMs: count(0, 3_600_000).exactOptional(),
  /** For `busy`, `overloaded` and `rate_limited`: what the service asks the caller to wait. */
  retryAfterMs: count(0, 3_600_000).exactOptional(),
});
export type SimulatorFault = z.output<typeof fault>;

const behaviour = {
  /** How long an order runs; 0 answers with the result at once. */
  latencyMs: count(0, 3_600_000),
  outcome: z.enum(SIMULATOR_OUTCOMES),
  /** The first one that strikes a call decides. */
  faults: z.array(fault).max(64),
  /** Whether an order can be found by our reference after a lost reply. */
  lookup: z.boolean(),
  /** True: it has no queue; handing an order in takes the whole latency and answers with the result. */
  synchronous: z.boolean(),
};
export type SimulatorBehaviour = z.output<z.ZodObject<typeof behaviour>>;

export const simulatorSettings = strictObject({
  kind: z.literal('simulator'),
  latencyMs: behaviour.latencyMs.default(0),
  outcome: behaviour.outcome.default('done'),
  faults: behaviour.faults.default([]),
  lookup: behaviour.lookup.default(true),
  synchronous: behaviour.synchronous.default(false),
  /** Overrides by the model's `upstreamModel` (its id where none is given). */
  models: z
    .record(
      modelId,
      strictObject({
        latencyMs: behaviour.latencyMs.exactOptional(),
        outcome: behaviour.outcome.exactOptional(),
        faults: behaviour.faults.exactOptional(),
        lookup: behaviour.lookup.exactOptional(),
        synchronous: behaviour.synchronous.exactOptional(),
      }),
    )
    .default({}),
  /**
   * Folder in which the accepted orders are written down; shared by all workers of the entry, on one machine or on a
   * common volume. Default: `simulator/<entry name>` in the data folder.
   */
  stateFolder: filePath.exactOptional(),
  limits,
});
export type SimulatorSettings = z.output<typeof simulatorSettings>;
