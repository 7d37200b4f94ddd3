/** Anthropic's Messages API. Calls are never retried here: the API takes no idempotency key. */
import type { ChatRequest, Completion } from '../../domain/text/chat.ts';
import {
  createServiceHttp,
  type ServiceHttp,
  type ServiceHttpOptions,
  type ServiceReply,
} from '../../infra/http/serviceHttp.ts';
import { openChatStream, toChatStream } from '../shared/eventBatches.ts';
import { translateFailures } from '../shared/textFailures.ts';
import type { ChatStream, TextCallContext, TextProvider } from '../shared/textProvider.ts';
import { errorReplyOf, jsonOf } from '../shared/textReply.ts';
import { failureOfReply } from './errorReply.ts';
import { AnthropicFrames } from './frames.ts';
import { readMessage } from './reply.ts';
import { mayReason, toMessagesBody } from './request.ts';

export interface AnthropicOptions extends Omit<ServiceHttpOptions, 'baseUrl' | 'headers'> {
  /** Default: the published address. */
  baseUrl?: string | undefined;
  apiKey: string;
}

const BASE_URL = 'https://api.anthropic.com';
/** The next version, 2026-10-21, takes no sampling for any model. With this one older models still do. */
const VERSION = '2023-06-01';

export function createAnthropic(options: AnthropicOptions): Required<Omit<TextProvider, 'embed' | 'embeddingLimits'>> {
  const { baseUrl = BASE_URL, apiKey, ...rest } = options;
  const http = createServiceHttp({
    ...rest,
    baseUrl: baseUrl.replace(/\/+(v1\/*)?$/, ''),
    headers: { 'x-api-key': apiKey, 'anthropic-version': VERSION },
    keepsConnections: true,
  });
  return {
    complete: (request, context) => translateFailures(() => complete(http, request, context)),
    stream: (request, context) => translateFailures(() => stream(http, request, context)),
    mayReason,
    close: () => http.destroy(),
  };
}

async function complete(http: ServiceHttp, request: ChatRequest, context: TextCallContext): Promise<Completion> {
  return readMessage(await jsonOf(await send(http, request, { context, stream: false })));
}

async function stream(http: ServiceHttp, request: ChatRequest, context: TextCallContext): Promise<ChatStream> {
  const reply = await send(http, request, { context, stream: true });
  const kind = reply.headers['content-type'] ?? '';
  if (kind.includes('event-stream')) return openChatStream(reply.body, new AnthropicFrames());
  return toChatStream(readMessage(await jsonOf(reply)));
}

async function send(
  http: ServiceHttp,
  request: ChatRequest,
  { context: { signal }, stream }: { context: TextCallContext; stream: boolean },
): Promise<ServiceReply> {
  const { e2eeHeaders: foreignHeaders } = request;
  const json = toMessagesBody(request, stream);
  const reply = await http.post({ path: '/v1/messages', json, foreignHeaders, signal });
  if (reply.status === 200) return reply;
  throw failureOfReply(await errorReplyOf(reply), Date.now());
}
