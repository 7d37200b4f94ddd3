/**
 * Downloads an output from a URL that a service named. The service's own host is called by the adapter's connection
 * with the credential. Other hosts go through the guarded fetch without one, so that a reply cannot make Farebox call
 * internal addresses.
 */
import { FareboxError } from '../../domain/errors.ts';
import { type GuardedFetch, isRefusedTarget } from '../../infra/http/guardedFetch.ts';
import type { ServiceHttp } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import type { CallContext, FailedOutcome } from './provider.ts';

export interface OutputSource {
  http: ServiceHttp;
  /** Configured address of the service; only its origin matters. */
  baseUrl: string;
  guardedFetch: GuardedFetch;
}

interface OutputTarget {
  /** A file that does not exist yet, below the `workFolder`. */
  path: string;
  maxBytes: number;
  timeoutMs: number;
}

export type FetchedOutput =
  /** `contentType` as declared, in lower case and without parameters; empty if absent. */
  | { ok: true; contentType: string }
  /** `unknown`: poll the order again later; `refused`: this URL will never give a usable output. */
  | { ok: false; outcome: FailedOutcome };

export async function fetchOutput(source: OutputSource, url: string, fetching: FetchOptions): Promise<FetchedOutput> {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const own = address?.origin === new URL(source.baseUrl).origin;
  try {
    return address && own
      ? await fromService(source.http, address, fetching)
      : await fromElsewhere(source.guardedFetch, url, fetching);
  } catch (error) {
    const { signal } = fetching.context;
    if (signal.aborted) throw signal.reason;
    return failureOf(error);
  }
}

interface FetchOptions {
  target: OutputTarget;
  context: Pick<CallContext, 'signal'>;
}

async function fromService(http: ServiceHttp, address: URL, { target, context }: FetchOptions): Promise<FetchedOutput> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(target.timeoutMs)]);
  const call = { method: 'GET', path: address.pathname, query: queryOf(address), signal } as const;
  const reply = await http.download(call, target);
  if (reply.saved) return { ok: true, contentType: typeOf(reply.headers['content-type']) };
  if (reply.status === 404 || reply.status === 410) return never(`it is gone (${reply.status})`);
  return later(`status ${reply.status}`);
}

async function fromElsewhere(
  guardedFetch: GuardedFetch,
  url: string,
  { target, context }: FetchOptions,
): Promise<FetchedOutput> {
  const { contentType } = await guardedFetch.download(url, { ...target, signal: context.signal });
  return { ok: true, contentType: typeOf(contentType) };
}

function failureOf(error: unknown): FetchedOutput {
  if (error instanceof ServiceHttpError) {
    return error.isTooLarge ? never('it is too large') : later(error.message);
  }
  if (!(error instanceof FareboxError)) throw error;
  if (error.code === 'payload_too_large') return never('it is too large');
  const why = error.internal ?? error.code;
  return isRefusedTarget(error) ? never(why) : later(why);
}

function never(why: string): FetchedOutput {
  const message = 'The provider did not deliver a usable output.';
  return {
    ok: false,
    outcome: { status: 'refused', reason: 'failed', message, detail: `the output: ${why}` },
  };
}

function later(detail: string): FetchedOutput {
  return { ok: false, outcome: { status: 'unknown', detail: `the output was not fetched: ${detail}` } };
}

function queryOf(address: URL): Record<string, string> {
  return Object.fromEntries(address.searchParams);
}

function typeOf(declared: string | undefined): string {
  return (declared ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}
