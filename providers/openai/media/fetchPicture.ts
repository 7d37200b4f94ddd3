/** Fetches a picture from the address that a service answered in place of base64. */
import { UpstreamFailure } from '../../../domain/text/upstreamFailure.ts';
import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createProviderHttp, type ProviderHttpOptions } from '../../../infra/http/providerHttp.ts';
import { fetchOutput } from '../../shared/fetchOutput.ts';
import type { MediaCallContext } from '../../shared/mediaProvider.ts';

export type FetchPicture = (
  url: string,
  target: { path: string; context: MediaCallContext },
) => Promise<void>;

const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** The service's own address is asked with its credential, any other through the guarded fetch and without one. */
export function createFetchPicture(options: ProviderHttpOptions, guardedFetch: GuardedFetch): FetchPicture {
  const http = createProviderHttp({ ...options, baseUrl: new URL(options.baseUrl).origin });
  const source = { http, baseUrl: options.baseUrl, guardedFetch };
  return async (url, { path, context }) => {
    const target = { path, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
    const fetched = await fetchOutput(source, url, {
      target,
      context: { ...context, heartbeat: () => undefined },
    });
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
