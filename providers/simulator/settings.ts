/** Settings of entries of the kind `simulator`. */
import { z } from 'zod';
import { count, filePath, modelId, strictObject } from '../../infra/config/schema/primitives.ts';
import { limits } from '../shared/settings.ts';

/** Stage of a simulated fault: submission, polling, or download of the output. */
export const SIMULATOR_STAGES = ['submit', 'poll', 'download'] as const;
export type SimulatorStage = (typeof SIMULATOR_STAGES)[number];

/** End of a simulated order without a fault. `hang`: it runs forever. */
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
  /** The service acted, but the reply is lost: `unknown`. At submit the order is accepted. */
  'reply-lost',
  /** The request is lost, which the caller cannot see: `unknown`. At submit nothing is accepted. */
  'request-lost',
  /** Refused as an invalid order. */
  'refused',
  'content_policy',
  'failed',
  /** The credential is refused. */
  'credential',
  /** Not accepted: too many concurrent orders. */
  'busy',
  /** Not accepted: the service is overloaded. */
  'overloaded',
  /** Not accepted: too many in this minute. */
  'rate_limited',
  /** No reply for `delayMs` (or until the call is aborted), then `unknown`. At submit the order is accepted. */
  'hang',
  /** Accepted, but the reply is lost and the output is late by `delayMs`. At poll: late by `delayMs`. */
  'late-success',
  /** The order succeeds, but its output is neither audio nor video, empty, or truncated. */
  'garbage-output',
  'empty-output',
  'truncated-output',
] as const;

const fault = strictObject({
  at: z.enum(SIMULATOR_STAGES),
  kind: z.enum(SIMULATOR_FAULTS),
  /** Applies to every N-th call of its stage (per provider entry and model, over all processes); 1 is each. */
  every: count(1, 1_000_000).default(1),
  /** For `hang` and `late-success`; default 60,000. */
  delayMs: count(0, 3_600_000).exactOptional(),
  /** For `busy`, `overloaded` and `rate_limited`: requested wait. */
  retryAfterMs: count(0, 3_600_000).exactOptional(),
});
export type SimulatorFault = z.output<typeof fault>;

const behaviour = {
  /** Run time of an order; 0 returns the result at once. */
  latencyMs: count(0, 3_600_000),
  outcome: z.enum(SIMULATOR_OUTCOMES),
  /** The first that applies to a call decides. */
  faults: z.array(fault).max(64),
  /** Whether an order can be looked up by its reference after a lost reply. */
  lookup: z.boolean(),
  /** True: there is no queue; a submission takes the whole latency and returns the result. */
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
  /** Overrides by the model's `upstreamModel` (default: its id). */
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
   * Folder of the accepted orders, shared by all workers of the entry, on one machine or on a common volume. Default:
   * `simulator/<entry name>` in the data folder.
   */
  stateFolder: filePath.exactOptional(),
  limits,
});
export type SimulatorSettings = z.output<typeof simulatorSettings>;
