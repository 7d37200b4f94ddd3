/** Building blocks for the settings of provider kinds. */
import { z } from 'zod';
import { ON_DISCONNECT } from '../../domain/providerSettings.ts';
import {
  count,
  environmentName,
  modelId,
  serviceUrl,
  strictObject,
  text,
  timeouts,
} from '../../infra/config/schema/primitives.ts';

/** A service with one address. */
export const service = {
  apiKeyEnv: environmentName.exactOptional(),
  baseUrl: serviceUrl.exactOptional(),
  allowPrivateNetwork: z.boolean().exactOptional(),
  timeouts: timeouts.exactOptional(),
  publishedModels: z
    .record(modelId, text(256))
    .exactOptional()
    .describe('Published models that it serves beyond those that are known of it: the id, and the name there.'),
};

/** Limits of all workers together, counted by the database. */
export const limits = strictObject({
  concurrent: count(1, 10_000).exactOptional(),
  perMinute: count(1, 10_000).exactOptional(),
}).exactOptional();

/** A service with a queue that can call back. */
export const callingService = { ...service, limits, callbacks: z.boolean().exactOptional() };

const upstream = strictObject({
  baseUrl: serviceUrl,
  apiKeyEnv: environmentName.exactOptional(),
  weight: count(1, 1000).exactOptional(),
});

/** A text service, which may have several addresses. Its schema is refined by `hasOneAddress`. */
export const textService = {
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

export function hasOneAddress(entry: { baseUrl?: string; upstreams?: unknown }): boolean {
  return entry.baseUrl === undefined || entry.upstreams === undefined;
}
export const EITHER = { path: ['upstreams'], error: 'either "baseUrl" or "upstreams", not both' };
