/** Reads whole bodies of text services. */

import { parseInTurns } from '../../engines/text/parseInTurns.ts';
import type { ServiceReply, WholeReply } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { garbageFailure, parseJson } from './textFailures.ts';

const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 256 * 1024;

/** Uses only the status if the body is truncated or too large. */
export async function errorReplyOf({ status, headers, body }: ServiceReply): Promise<WholeReply> {
  try {
    return { status, headers, body: await body.whole(MAX_ERROR_BYTES) };
  } catch (error) {
    if (error instanceof ServiceHttpError && error.failure === 'stopped') throw error;
    return { status, headers, body: Buffer.alloc(0) };
  }
}

export async function jsonOf({ status, body }: ServiceReply): Promise<unknown> {
  const json = parseJson(await body.whole(MAX_WHOLE_BYTES));
  if (json === undefined) throw garbageFailure('the answer is no JSON', status);
  return json;
}

/** For replies of many megabytes: blocks the event loop for milliseconds only. */
export async function largeJsonOf({ status, body }: ServiceReply): Promise<unknown> {
  const bytes = await body.whole(MAX_WHOLE_BYTES);
  return await parseInTurns(bytes).catch(() => {
    throw garbageFailure('the answer is no JSON', status);
  });
}
