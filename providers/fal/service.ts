/** What all calls of fal have in common: its hosts, what is sent with every order, and how an order is named there. */
import type { GuardedFetch } from '../../infra/http/guardedFetch.ts';
import { createServiceHttp, type ServiceHttp, type ServiceHttpOptions } from '../../infra/http/serviceHttp.ts';
import type { OutputSource } from '../shared/fetchOutput.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';
import type { Storage } from './upload.ts';

export interface FalService {
  queue: ServiceHttp;
  outputs: OutputSource;
  storage: Storage;
  /** What it is reached with, for connections of other bounds. */
  rest: ServiceHttpOptions;
}

const QUEUE_URL = 'https://queue.fal.run';
/** Storage and published keys. */
const REST_URL = 'https://rest.fal.ai';
/** How long fal keeps media of an order: longer than any job waits. */
const KEPT_SECONDS = 24 * 3_600;

/** An endpoint id: owner, app and mostly a path; two names may stand before the owner. */
export const ENDPOINT = /^(?:(?:workflows|comfy)\/)?[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)+$/;

/**
 * The key is "key-id:key-secret", and a base URL stands for all hosts of the service. `maxReplyBytes`: of an answer of the
 * queue; default 1 MB.
 */
export function openService(
  options: ServiceAccess,
  guardedFetch: GuardedFetch,
  bounds: Pick<ServiceHttpOptions, 'maxReplyBytes'> = {},
): FalService {
  const { allowPrivateNetwork, timeouts } = options;
  const queueUrl = options.baseUrl ?? QUEUE_URL;
  const restUrl = options.baseUrl ?? REST_URL;
  const headers = { authorization: `Key ${options.apiKey}` };
  const reached = { allowPrivateNetwork, timeouts };
  const queue = createServiceHttp({ baseUrl: queueUrl, ...reached, headers, ...bounds });
  const rest = createServiceHttp({ baseUrl: restUrl, ...reached, headers });
  return {
    queue,
    outputs: { http: queue, baseUrl: queueUrl, guardedFetch },
    storage: { rest, restUrl, ...reached, keptSeconds: KEPT_SECONDS },
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

/** The row of the longest beginning of an endpoint id, in whole segments. */
export function longestPrefixRow<Row>(rows: Readonly<Record<string, Row>>, endpoint: string): Row | undefined {
  const segments = endpoint.split('/');
  for (let count = segments.length; count > 0; count -= 1) {
    const beginning = segments.slice(0, count).join('/');
    if (Object.hasOwn(rows, beginning)) return rows[beginning];
  }
  return undefined;
}
