/** Fetches a picture from the address that a service answered in place of base64. */
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createServiceHttp, type ServiceHttpOptions } from '../../../infra/http/serviceHttp.ts';
import { fetchOutput } from '../../shared/fetchOutput.ts';
import type { MediaCallContext } from '../../shared/mediaProvider.ts';

export type FetchPicture = (
  url: string,
  target: { path: string; context: MediaCallContext },
) => Promise<void>;

const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** The service's own address is asked with its credential, any other through the guarded fetch and without one. */
export function createFetchPicture(options: ServiceHttpOptions, guardedFetch: GuardedFetch): FetchPicture {
  const http = createServiceHttp({ ...options, baseUrl: new URL(options.baseUrl).origin });
  const source = { http, baseUrl: options.baseUrl, guardedFetch };
  return async (url, { path, context }) => {
    const target = { path, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
    const fetched = await fetchOutput(source, url, { target, context });
    if (fetched.ok) return;
    const { outcome } = fetched;
    const refused = outcome.status === 'refused';
    const detail = refused || outcome.status === 'unknown' ? outcome.detail : undefined;
    throw new UpstreamFailure({
      reason: refused ? 'garbage' : 'lost',
      detail: detail ?? 'the picture was not fetched',
    });
  };
}
