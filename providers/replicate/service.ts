/** Shared by all calls of the service. */
import type { GuardedFetch } from '../../infra/http/guardedFetch.ts';
import { createServiceHttp, type ServiceHttp } from '../../infra/http/serviceHttp.ts';
import type { OutputSource } from '../shared/fetchOutput.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';

export interface ReplicateAccess extends ServiceAccess {
  guardedFetch: GuardedFetch;
}

export interface ReplicateService {
  api: ServiceHttp;
  outputs: OutputSource;
  /** Header that bounds the cost of an abandoned prediction. */
  cancelAfter: string;
}

const BASE_URL = 'https://api.replicate.com';
/** The service replies to a new prediction at once, and to other requests quickly. */
const FIRST_BYTE_MS = 60_000;
/** A reply repeats the whole input, data URLs included, and the log. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
/** Minimum that the service takes. */
const MIN_CANCEL_AFTER_SECONDS = 5;
/** Matches owner/name or owner/name:version. */
const MODEL = /^([\w.-]{1,100}\/[\w.-]{1,100})(?::(\w{1,128}))?$/;

export function openReplicate(options: ReplicateAccess, deadlineMs: number): ReplicateService {
  const baseUrl = (options.baseUrl ?? BASE_URL).replace(/\/+(v1\/*)?$/, '');
  const api = createServiceHttp({
    baseUrl,
    allowPrivateNetwork: options.allowPrivateNetwork,
    headers: { authorization: `Bearer ${options.apiKey}` },
    timeouts: { firstByteMs: FIRST_BYTE_MS, ...options.timeouts },
    maxReplyBytes: MAX_REPLY_BYTES,
  });
  const seconds = Math.max(MIN_CANCEL_AFTER_SECONDS, Math.ceil(deadlineMs / 1_000));
  const outputs = { http: api, baseUrl, guardedFetch: options.guardedFetch };
  return { api, outputs, cancelAfter: `${seconds}s` };
}

/** Path of an order for this model, and the version for its body; undefined for an invalid name. */
export function orderAddress(upstreamModel: string): { model: string; path: string; version?: string } | undefined {
  const [, model, version] = MODEL.exec(upstreamModel) ?? [];
  if (model === undefined) return undefined;
  if (version === undefined) return { model, path: `/v1/models/${model}/predictions` };
  return { model, path: '/v1/predictions', version };
}
