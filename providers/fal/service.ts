/** What all calls of fal have in common: its hosts, what is sent with every order, and how an order is named there. */
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import type { GuardedFetch } from '../../infra/http/guardedFetch.ts';
import {
  createProviderHttp,
  type ProviderHttp,
  type ProviderHttpOptions,
} from '../../infra/http/providerHttp.ts';
import type { Storage } from './upload.ts';

export interface FalOptions {
  /** "key-id:key-secret". */
  apiKey: string;
  /** Stands for all of the service's hosts; default: the published ones. */
  baseUrl?: string | undefined;
  allowPrivateNetwork?: boolean | undefined;
  timeouts?: Partial<ProviderTimeouts> | undefined;
}

export interface FalService {
  queue: ProviderHttp;
  queueUrl: string;
  storage: Storage;
  guardedFetch: GuardedFetch;
  /** What it is reached with, for connections of other bounds. */
  rest: ProviderHttpOptions;
}

const QUEUE_URL = 'https://queue.fal.run';
/** Storage and published keys. */
const REST_URL = 'https://rest.fal.ai';
/** How long fal keeps media of an order: longer than any job waits. */
const KEPT_SECONDS = 24 * 3_600;

/** An endpoint id: owner, app and mostly a path; two names may stand before the owner. */
export const ENDPOINT = /^(?:(?:workflows|comfy)\/)?[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)+$/;

/** `maxReplyBytes`: of an answer of the queue; default 1 MB. */
export function openService(
  options: FalOptions,
  guardedFetch: GuardedFetch,
  bounds: Pick<ProviderHttpOptions, 'maxReplyBytes'> = {},
): FalService {
  const { allowPrivateNetwork, timeouts } = options;
  const queueUrl = options.baseUrl ?? QUEUE_URL;
  const restUrl = options.baseUrl ?? REST_URL;
  const headers = { authorization: `Key ${options.apiKey}` };
  const reached = { allowPrivateNetwork, timeouts };
  const rest = createProviderHttp({ baseUrl: restUrl, ...reached, headers });
  return {
    queue: createProviderHttp({ baseUrl: queueUrl, ...reached, headers, ...bounds }),
    queueUrl,
    storage: { rest, restUrl, ...reached, keptSeconds: KEPT_SECONDS },
    guardedFetch,
    rest: { baseUrl: restUrl, ...reached },
  };
}

/** Sent with every order. */
export const ORDER_HEADERS = {
  'x-fal-queue-priority': 'normal',
  'x-fal-object-lifecycle-preference': JSON.stringify({ expiration_duration_seconds: KEPT_SECONDS }),
  // No prompt of a client stays in the history of our account there.
  'x-fal-store-io': '0',
} as const;

/**
 * Written here and not taken from the answer, which could name another host: orders are asked for by owner and app,
 * without the rest of the endpoint.
 */
export function orderPath({ endpoint, requestId }: { endpoint: string; requestId: string }): string {
  const segments = endpoint.split('/');
  const app = segments.slice(0, /^(workflows|comfy)$/.test(segments[0] ?? '') ? 3 : 2);
  return `/${app.join('/')}/requests/${requestId}`;
}
