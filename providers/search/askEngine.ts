/** One question to a search engine's HTTP API, with every way in which it may not be answered named. */
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { ServiceCall, ServiceHttp, WholeReply } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { reasonOfCall } from '../shared/mediaFailures.ts';
import { garbage, parseJson } from '../shared/textFailures.ts';

export type EngineCall = Pick<ServiceCall, 'path' | 'query' | 'signal'>;

/** The answer of whatever status. Throws the signal's reason when the caller gave up. */
export async function askEngine(engine: ServiceHttp, call: EngineCall): Promise<WholeReply> {
  try {
    return await engine.request({ method: 'GET', headers: { accept: 'application/json' }, ...call });
  } catch (error) {
    if (call.signal?.aborted) throw call.signal.reason;
    if (!(error instanceof ServiceHttpError)) throw error;
    throw new UpstreamFailure({ reason: reasonOfCall(error), detail: error.message, cause: error });
  }
}

/** The parsed body; `garbage` where it is no JSON. */
export function jsonOf({ body }: WholeReply): unknown {
  const json = parseJson(body);
  if (json === undefined) throw garbage('no JSON');
  return json;
}
