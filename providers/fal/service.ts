/** Shared by all calls of fal: its hosts, the headers of every order, and the path of an order. */
import type { GuardedFetch } from '../../infra/http/guardedFetch.ts';
import { createServiceHttp, type ServiceHttp, type ServiceHttpOptions } from '../../infra/http/serviceHttp.ts';
import type { OutputSource } from '../shared/fetchOutput.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';
import type { Storage } from './upload.ts';

export interface FalService {
  queue: ServiceHttp;
  outputs: OutputSource;
  storage: Storage;
  /** Options for opening the REST host with other limits. */
  rest: ServiceHttpOptions;
}

const QUEUE_URL = 'https://queue.fal.run';
/** Storage and published keys. */
const REST_URL = 'https://rest.fal.ai';
/** Time for which fal keeps an order's media, longer than any job waits. */
const KEPT_SECONDS = 24 * 3_600;

/** Endpoint id: owner, app and usually a path. `workflows` or `comfy` may precede the owner. */
export const ENDPOINT = /^(?:(?:workflows|comfy)\/)?[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)+$/;

/**
 * The key is "key-id:key-secret". A base URL replaces all hosts. `maxReplyBytes` limits replies of the queue; default 1
 * MB.
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

export const ORDER_HEADERS = {
  'x-fal-queue-priority': 'normal',
  'x-fal-object-lifecycle-preference': JSON.stringify({ expiration_duration_seconds: KEPT_SECONDS }),
  // Keeps clients' prompts out of the account's history.
  'x-fal-store-io': '0',
} as const;

/**
 * Built here, because a URL in the reply could name another host. The path has owner and app, not the rest of the
 * endpoint.
 */
export function orderPath({ endpoint, requestId }: { endpoint: string; requestId: string }): string {
  const segments = endpoint.split('/');
  const app = segments.slice(0, /^(workflows|comfy)$/.test(segments[0] ?? '') ? 3 : 2);
  return `/${app.join('/')}/requests/${requestId}`;
}

/** Returns the row whose key matches the most leading segments of the endpoint id. */
export function longestPrefixRow<Row>(rows: Readonly<Record<string, Row>>, endpoint: string): Row | undefined {
  const segments = endpoint.split('/');
  for (let count = segments.length; count > 0; count -= 1) {
    const beginning = segments.slice(0, count).join('/');
    if (Object.hasOwn(rows, beginning)) return rows[beginning];
  }
  return undefined;
}
