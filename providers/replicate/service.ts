/** What all calls of the service have in common. */
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
  /** The header that bounds what a prediction costs that nobody asks for any more. */
  cancelAfter: string;
}

const BASE_URL = 'https://api.replicate.com';
/** It answers a new prediction at once, and others are short questions. */
const FIRST_BYTE_MS = 60_000;
/** A prediction repeats its whole input, media as data URLs included, and its log. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;
/** The least that the service takes. */
const MIN_CANCEL_AFTER_SECONDS = 5;
/** owner/name or owner/name:version. */
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

/** Where an order of this model is handed in, and what of the model its body says; undefined when it is no name of one. */
export function orderAddress(upstreamModel: string): { model: string; path: string; version?: string } | undefined {
  const [, model, version] = MODEL.exec(upstreamModel) ?? [];
  if (model === undefined) return undefined;
  if (version === undefined) return { model, path: `/v1/models/${model}/predictions` };
  return { model, path: '/v1/predictions', version };
}
