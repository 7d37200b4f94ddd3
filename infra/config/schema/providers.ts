/** Provider entries of the configuration file, one shape per kind. */
import { z } from 'zod';
import {
  ON_DISCONNECT,
  OPENAI_DIALECTS,
  SIMULATOR_FAULTS,
  SIMULATOR_OUTCOMES,
  SIMULATOR_STAGES,
  X_SEARCH_FORMS,
} from '../../../domain/providerSettings.ts';
import { closed, count, environmentName, filePath, modelId, serviceUrl, timeouts } from './primitives.ts';

const service = {
  apiKeyEnv: environmentName.exactOptional(),
  baseUrl: serviceUrl.exactOptional(),
  allowPrivateNetwork: z.boolean().exactOptional(),
  timeouts: timeouts.exactOptional(),
};

/** Of all workers together; the database counts. */
const limits = closed({
  concurrent: count(1, 10_000).exactOptional(),
  perMinute: count(1, 10_000).exactOptional(),
}).exactOptional();

/** A service that orders are queued for and that can call back. */
const calling = { ...service, limits, callbacks: z.boolean().exactOptional() };

const upstream = closed({
  baseUrl: serviceUrl,
  apiKeyEnv: environmentName.exactOptional(),
  weight: count(1, 1000).exactOptional(),
});

/** A text service, which may have several addresses. */
const textService = {
  ...service,
  upstreams: z.array(upstream).min(1).max(64).exactOptional(),
  onDisconnect: z
    .enum(ON_DISCONNECT)
    .exactOptional()
    .describe(
      'Fate of a stream whose client has left: `abort` closes it and bills what was received, `drain` reads it to its end ' +
        '(at most 125 s) and bills what the service tells. Default `abort`; a model may say otherwise.',
    ),
};

function hasOneAddress(entry: { baseUrl?: string; upstreams?: unknown }): boolean {
  return entry.baseUrl === undefined || entry.upstreams === undefined;
}
const EITHER = { path: ['upstreams'], error: 'either "baseUrl" or "upstreams", not both' };

const openai = closed({
  kind: z.literal('openai'),
  ...textService,
  dialect: z.enum(OPENAI_DIALECTS).exactOptional(),
  xSearch: z.enum(X_SEARCH_FORMS).exactOptional(),
  reasoningBeside: z
    .boolean()
    .exactOptional()
    .describe(
      'It counts reasoning beside the limit of an answer, so that is held for too. Default: for xAI.',
    ),
  showsReasoning: z
    .boolean()
    .exactOptional()
    .describe(
      'It sends all reasoning of its models, in a field of its own, so that a stream that is left is billed by what came ' +
        'and not by its seconds. Default: true, but for OpenAI, xAI, Google, Azure, OpenRouter and the dialect `openai`.',
    ),
  e2ee: z.boolean().exactOptional(),
}).refine(hasOneAddress, EITHER);

const anthropic = closed({ kind: z.literal('anthropic'), ...textService }).refine(hasOneAddress, EITHER);

const fault = closed({
  at: z.enum(SIMULATOR_STAGES),
  kind: z.enum(SIMULATOR_FAULTS),
  every: count(1, 1_000_000).default(1),
  delayMs: count(0, 3_600_000).exactOptional(),
  retryAfterMs: count(0, 3_600_000).exactOptional(),
});

const latencyMs = count(0, 3_600_000);
const outcome = z.enum(SIMULATOR_OUTCOMES);
const faults = z.array(fault).max(64);

const simulator = closed({
  kind: z.literal('simulator'),
  latencyMs: latencyMs.default(0),
  outcome: outcome.default('done'),
  faults: faults.default([]),
  lookup: z.boolean().default(true),
  synchronous: z.boolean().default(false),
  models: z
    .record(
      modelId,
      closed({
        latencyMs: latencyMs.exactOptional(),
        outcome: outcome.exactOptional(),
        faults: faults.exactOptional(),
        lookup: z.boolean().exactOptional(),
        synchronous: z.boolean().exactOptional(),
      }),
    )
    .default({}),
  stateFolder: filePath.exactOptional(),
  limits,
});

export const provider = z.discriminatedUnion('kind', [
  openai,
  anthropic,
  closed({ kind: z.literal('elevenlabs'), ...service, limits }),
  closed({ kind: z.literal('fal'), ...calling }),
  closed({ kind: z.literal('replicate'), ...calling }),
  closed({ kind: z.literal('local'), limits }),
  simulator,
]);
