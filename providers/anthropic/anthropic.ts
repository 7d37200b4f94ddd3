/** Anthropic's Messages API. One call each, never repeated here: it takes no idempotency key. */
import type { ChatRequest, Completion } from '../../domain/text/chat.ts';
import {
  createTextHttp,
  type TextHttp,
  type TextHttpOptions,
  type TextReply,
} from '../../infra/http/textHttp.ts';
import { openChatStream } from '../shared/eventBatches.ts';
import { inOurWords } from '../shared/textFailures.ts';
import type { ChatStream, TextCallContext, TextProvider } from '../shared/textProvider.ts';
import { errorReplyOf, jsonOf } from '../shared/textReply.ts';
import { wholeAsStream } from '../shared/wholeAsEvents.ts';
import { failureOfReply } from './errorReply.ts';
import { AnthropicFrames } from './frames.ts';
import { readMessage } from './reply.ts';
import { mayReason, toMessagesBody } from './request.ts';

export interface AnthropicOptions extends Omit<TextHttpOptions, 'baseUrl' | 'headers'> {
  /** Default: the published address. */
  baseUrl?: string | undefined;
  apiKey: string;
}

const BASE_URL = 'https://api.anthropic.com';
/** The next one, 2026-10-21, takes no sampling for any model; under this one the older models still do. */
const VERSION = '2023-06-01';

export function createAnthropic(
  options: AnthropicOptions,
): Required<Omit<TextProvider, 'embed' | 'embeddingLimits'>> {
  const { baseUrl = BASE_URL, apiKey, ...rest } = options;
  const http = createTextHttp({
    ...rest,
    baseUrl: baseUrl.replace(/\/+(v1\/*)?$/, ''),
    headers: { 'x-api-key': apiKey, 'anthropic-version': VERSION },
  });
  return {
    complete: (request, context) => inOurWords(() => complete(http, request, context)),
    stream: (request, context) => inOurWords(() => stream(http, request, context)),
    mayReason,
    close: () => http.close(),
  };
}

async function complete(http: TextHttp, request: ChatRequest, context: TextCallContext): Promise<Completion> {
  return readMessage(await jsonOf(await send(http, toMessagesBody(request, false), { request, context })));
}

async function stream(http: TextHttp, request: ChatRequest, context: TextCallContext): Promise<ChatStream> {
  const reply = await send(http, toMessagesBody(request, true), { request, context });
  const kind = reply.headers['content-type'] ?? '';
  if (kind.includes('event-stream')) return openChatStream(reply.body, new AnthropicFrames());
  return wholeAsStream(readMessage(await jsonOf(reply)));
}

interface Call {
  request: ChatRequest;
  context: TextCallContext;
}

async function send(http: TextHttp, json: unknown, { request, context }: Call): Promise<TextReply> {
  const headers = request.e2eeHeaders ?? {};
  const reply = await http.post({ path: '/v1/messages', json, headers, signal: context.signal });
  if (reply.status === 200) return reply;
  throw failureOfReply(await errorReplyOf(reply), Date.now());
}
