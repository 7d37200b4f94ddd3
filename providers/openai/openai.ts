/**
 * Chat completions and embeddings of OpenAI and of every service with its API: vLLM, llama.cpp, Ollama and others.
 * Calls are never retried here: no operation takes an idempotency key.
 */
import type { ChatRequest, Completion } from '../../domain/text/chat.ts';
import {
  createServiceHttp,
  type ServiceHttp,
  type ServiceHttpOptions,
  type ServiceReply,
} from '../../infra/http/serviceHttp.ts';
import { openChatStream, toChatStream } from '../shared/eventBatches.ts';
import { garbageFailure, translateFailures } from '../shared/textFailures.ts';
import type {
  ChatStream,
  EmbeddingRequest,
  Embeddings,
  TextCallContext,
  TextProvider,
} from '../shared/textProvider.ts';
import { errorReplyOf, jsonOf, largeJsonOf } from '../shared/textReply.ts';
import { type Dialect, dialectOf } from './dialects.ts';
import { readEmbeddings, toEmbeddingBody } from './embeddings.ts';
import { failureOfReply } from './errorReply.ts';
import { OpenAiFrames } from './frames.ts';
import { readCompletion } from './reply.ts';
import { mayReason, toChatBody } from './request.ts';
import type { OpenAiDialect, XSearchForm } from './settings.ts';

export interface OpenAiOptions extends Omit<ServiceHttpOptions, 'baseUrl' | 'headers'> {
  /** Default: the published address. */
  baseUrl?: string | undefined;
  /** Self-hosted servers often need none. */
  apiKey?: string | undefined;
  /** Default: derived from the address. */
  dialect?: OpenAiDialect | undefined;
  /** Form of a search on X; undefined: not supported. */
  xSearch?: XSearchForm | undefined;
}

export const OPENAI_BASE_URL = 'https://api.openai.com/v1';

export function createOpenAi(options: OpenAiOptions): Required<Omit<TextProvider, 'embeddingLimits'>> {
  const { baseUrl = OPENAI_BASE_URL, apiKey, dialect: chosen, xSearch, ...rest } = options;
  const dialect = { ...dialectOf(baseUrl, chosen), xSearch };
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const http = createServiceHttp({ ...rest, baseUrl, headers, keepsConnections: true });
  const service: OpenAiService = { http, dialect };
  return {
    complete: (request, context) => translateFailures(() => complete(service, request, context)),
    stream: (request, context) => translateFailures(() => stream(service, request, context)),
    mayReason: (request) => mayReason(request, dialect),
    embed: (request, context) => translateFailures(() => embed(service, request, context)),
    close: () => http.destroy(),
  };
}

interface OpenAiService {
  http: ServiceHttp;
  dialect: Dialect;
}

async function complete(service: OpenAiService, request: ChatRequest, context: TextCallContext): Promise<Completion> {
  const reply = await chat(service, toChatBody(request, service.dialect, false), { request, context });
  return readCompletion(await jsonOf(reply), request.n);
}

async function stream(service: OpenAiService, request: ChatRequest, context: TextCallContext): Promise<ChatStream> {
  const reply = await chat(service, toChatBody(request, service.dialect, true), { request, context });
  const kind = reply.headers['content-type'] ?? '';
  if (kind.includes('json')) return toChatStream(readCompletion(await jsonOf(reply), request.n));
  if (kind.includes('html')) {
    reply.body.abort();
    throw garbageFailure('the answer is a page', reply.status);
  }
  return openChatStream(reply.body, new OpenAiFrames(request.n));
}

async function embed(service: OpenAiService, request: EmbeddingRequest, context: TextCallContext): Promise<Embeddings> {
  const json = toEmbeddingBody(request, service.dialect);
  const reply = await service.http.post({ path: '/embeddings', json, signal: context.signal });
  await checkStatus(reply);
  return await readEmbeddings(await largeJsonOf(reply), request);
}

interface Chat {
  request: ChatRequest;
  context: TextCallContext;
}

async function chat({ http }: OpenAiService, json: unknown, { request, context }: Chat): Promise<ServiceReply> {
  const { e2eeHeaders: foreignHeaders } = request;
  const { signal } = context;
  const reply = await http.post({ path: '/chat/completions', json, foreignHeaders, signal });
  await checkStatus(reply);
  return reply;
}

async function checkStatus(reply: ServiceReply): Promise<void> {
  if (reply.status !== 200) throw failureOfReply(await errorReplyOf(reply), Date.now());
}
