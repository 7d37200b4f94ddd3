/** One question to a search engine's HTTP API, with every way in which it may not be answered named. */
import { UpstreamFailure } from '../../domain/text/upstreamFailure.ts';
import {
  type ProviderCall,
  type ProviderHttp,
  ProviderHttpError,
  type ProviderReply,
} from '../../infra/http/providerHttp.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';

export type EngineCall = Pick<ProviderCall, 'path' | 'query' | 'signal'>;

/** The answer of whatever status. Throws the signal's reason when the caller gave up. */
export async function askEngine(engine: ProviderHttp, call: EngineCall): Promise<ProviderReply> {
  try {
    return await engine.request({ method: 'GET', headers: { accept: 'application/json' }, ...call });
  } catch (error) {
    if (call.signal?.aborted) throw call.signal.reason;
    if (error instanceof ProviderHttpError) throw failureOf(error);
    throw error;
  }
}

/** The parsed body; `garbage` where it is no JSON. */
export function jsonOf(reply: ProviderReply): unknown {
  try {
    return JSON.parse(reply.body.toString('utf8'));
  } catch (cause) {
    throw garbage('no JSON', cause);
  }
}

export function garbage(detail: string, cause?: unknown): UpstreamFailure {
  return new UpstreamFailure({ reason: 'garbage', detail, cause });
}

function failureOf(error: ProviderHttpError): UpstreamFailure {
  const detail = error.message;
  if (error.sent === 'not_sent') return new UpstreamFailure({ reason: 'unreachable', detail, cause: error });
  if (error.cause instanceof BodyTooLarge) return garbage(detail, error);
  return new UpstreamFailure({ reason: tookTooLong(error.cause) ? 'timeout' : 'lost', detail, cause: error });
}

const TOO_LONG = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];

function tookTooLong(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  return cause.name === 'TimeoutError' || ('code' in cause && TOO_LONG.includes(String(cause.code)));
}
