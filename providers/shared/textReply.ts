/** The bodies of whole replies of text services. */

import { parseInTurns } from '../../engines/text/parseInTurns.ts';
import type { TextReply } from '../../infra/http/textHttp.ts';
import { TextHttpError } from '../../infra/http/textHttpError.ts';
import { garbage, parseJson } from './textFailures.ts';

const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 256 * 1024;

export interface ErrorReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/** The status says enough where the body of a failure is cut or endless. */
export async function errorReplyOf({ status, headers, body }: TextReply): Promise<ErrorReply> {
  try {
    return { status, headers, body: await body.whole(MAX_ERROR_BYTES) };
  } catch (error) {
    if (error instanceof TextHttpError && error.failure === 'stopped') throw error;
    return { status, headers, body: Buffer.alloc(0) };
  }
}

export async function jsonOf({ status, body }: TextReply): Promise<unknown> {
  const json = parseJson((await body.whole(MAX_WHOLE_BYTES)).toString('utf8'));
  if (json === undefined) throw garbage('the answer is no JSON', status);
  return json;
}

/** The same for replies of many megabytes: the event loop is held up for milliseconds only. */
export async function largeJsonOf({ status, body }: TextReply): Promise<unknown> {
  const bytes = await body.whole(MAX_WHOLE_BYTES);
  return await parseInTurns(bytes).catch(() => {
    throw garbage('the answer is no JSON', status);
  });
}
