/** Models that may answer a chat request, in order, with the request and the price for each (TEXT-11). */

import type { Character } from '../../domain/catalogue/character.ts';
import type { TextModel } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { type ConfiguredProviders, textFeaturesOf } from '../../domain/providerKind.ts';
import { type AddOn, priceOfAddOns, X_SEARCH_PRICE } from '../../domain/text/addOns.ts';
import type { ChatMessage, ChatRequest } from '../../domain/text/chat.ts';
import { type Feature, missingFeatures } from '../../domain/text/features.ts';
import { asksForHourCache, boundOf, plus } from '../../domain/text/price.ts';
import { mediaTokensOf, promptTextsOf, reasoningBesideOf } from '../../domain/text/promptSize.ts';
import { estimateTexts } from '../../engines/text/estimateInTurns.ts';
import type { Config } from '../../infra/config/config.ts';
import { invalid } from '../http/invalid.ts';
import type { RouteRequest } from '../http/route.ts';
import { type NamedModel, requireAttempts } from '../models.ts';
import type { ChatBody, SentMessage } from './chatBody.ts';
import { countPrompt } from './tally.ts';
import { maxTokensOf, toChatRequest } from './toChatRequest.ts';
import type { WebLookup } from './web/webLookup.ts';

export type ChatAttempts = [ChatAttempt, ...ChatAttempt[]];

export interface ChatAttempt {
  model: TextModel;
  /** Deprecation headers of the model. */
  headers: Record<string, string>;
}

type ModelChoiceRequest = Pick<RouteRequest<ChatBody, unknown, 'buyer'>, 'body' | 'caller'>;

/**
 * Lists the models to try. The first model decides about errors; a fallback that lacks a feature, or does not support
 * the requested length, is skipped. Throws FareboxError `model_not_found`, `forbidden`, `model_offline`,
 * `character_not_found` or `unsupported_feature`.
 */
export function chatAttempts(config: Config, { body, caller }: ModelChoiceRequest): ChatAttempts {
  const character = characterOf(config, body);
  const fallbacks = (body.fallbacks ?? []).map(({ model }) => model);
  const asked = { name: body.model, type: 'text' as const, fallbacks, ...(character && { character }) };
  const found = requireAttempts(config, asked, caller).flatMap(asTextModel);
  const features = featuresOf(body);
  const [first] = found;
  if (!first) throw wrongType();
  const lacks = ({ model }: ChatAttempt) => [
    ...missingFeatures(model, features),
    ...missingXSearch(config, body, model),
  ];
  const missing = lacks(first);
  if (missing.length > 0) throw unsupported(missing);
  refuseTooLong(body, first.model);
  const able = (attempt: ChatAttempt) => lacks(attempt).length === 0 && !isTooLong(body, attempt.model.spec);
  return [first, ...found.slice(1).filter(able)];
}

const SIGHT: ReadonlyMap<Feature, string> = new Map([['image', 'messages']]);

/**
 * Only its bytes show that a file is a picture, which needs a model with vision. Throws FareboxError
 * `unsupported_feature`.
 */
export function attemptsWithVision(attempts: ChatAttempts, messages: readonly ChatMessage[]): ChatAttempts {
  if (!messages.some(showsPicture)) return attempts;
  const [first, ...others] = attempts;
  const missing = missingFeatures(first.model, SIGHT);
  if (missing.length > 0) throw unsupported(missing);
  return [first, ...others.filter(({ model }) => missingFeatures(model, SIGHT).length === 0)];
}

function showsPicture({ role, content }: ChatMessage): boolean {
  return role === 'user' && Array.isArray(content) && content.some(({ type }) => type === 'image');
}

/** A model without X search ignores the parameter; one with it needs a provider that supports it (TEXT-9). */
function missingXSearch(config: Config, body: ChatBody, model: TextModel) {
  if (!body.service_parameters.enable_x_search || !model.spec.capabilities?.supportsXSearch) return [];
  if (textFeaturesOf(config, model).xSearch) return [];
  const words = `enable_x_search is not configured on this service for ${model.id}`;
  return [{ path: 'service_parameters', words }];
}

/** Estimated once for all models, since a prompt can have megabytes. */
export interface PromptEstimate {
  /** Request for the first model. */
  request: ChatRequest;
  model: TextModel;
  /** Estimate without media, which each model counts by its own rates. */
  textTokens: number;
}

export async function estimatePrompt(order: Parameters<typeof toChatRequest>[0]): Promise<PromptEstimate> {
  const request = toChatRequest(order);
  const { texts, around } = promptTextsOf(request);
  return { request, model: order.model, textTokens: around + (await estimateTexts(texts)) };
}

/**
 * Selects the models whose context has room for the prompt. The estimate is on the high side, so a prompt above it is
 * counted exactly. Throws FareboxError `context_length_exceeded` when there are none.
 */
export async function attemptsWithinContext(
  attempts: ChatAttempts,
  { request, textTokens }: Pick<PromptEstimate, 'request' | 'textTokens'>,
): Promise<ChatAttempts> {
  const [asked] = attempts;
  const most = Math.max(...attempts.map(contextOf));
  let tokens = textTokens;
  if (attempts.some((attempt) => tokens > contextOf(attempt))) tokens = await countPrompt(request, most);
  const [first, ...others] = attempts.filter((attempt) => tokens <= contextOf(attempt));
  if (first) return [first, ...others];
  throw new FareboxError({
    code: 'context_length_exceeded',
    message: `The messages are longer than the context of ${asked.model.id}: ${contextOf(asked)} tokens.`,
  });
}

function contextOf({ model }: ChatAttempt): number {
  return model.spec.availableContextTokens;
}

export function characterOf({ characters }: Config, body: ChatBody): Character | undefined {
  const slug = body.service_parameters.character_slug;
  if (slug === undefined) return undefined;
  const character = characters.find((known) => known.slug === slug || known.id === slug);
  if (character) return character;
  throw new FareboxError({ code: 'character_not_found', message: 'Character not found' });
}

function asTextModel({ model, headers }: NamedModel): ChatAttempt[] {
  return model.kind === 'text' ? [{ model, headers }] : [];
}

/** True only where the model has a cap of its own (TEXT-5). */
function isTooLong(body: ChatBody, { maxCompletionTokens: most }: TextModel['spec']): boolean {
  return most !== undefined && (body.max_completion_tokens ?? 0) > most;
}

function refuseTooLong(body: ChatBody, { id, spec }: TextModel): void {
  if (!isTooLong(body, spec)) return;
  throw invalid('max_completion_tokens', `${id} answers with at most ${spec.maxCompletionTokens} tokens`);
}

function wrongType(): FareboxError {
  return invalid('model', 'This endpoint takes text models only');
}

export function unsupported(missing: readonly { path: string; words: string }[]): FareboxError {
  const fields: Record<string, string[]> = {};
  for (const { path, words } of missing) fields[path] = [...(fields[path] ?? []), words];
  return new FareboxError({
    code: 'unsupported_feature',
    message: missing.map(({ words }) => words).join('; '),
    fields,
  });
}

export interface PricedRequest {
  /** Request without the results of lookups. */
  request: ChatRequest;
  /** Highest cost, with searches and pages. */
  bound: LedgerPrice;
  /** Highest prompt tokens, with results of lookups. */
  promptTokens: number;
  /** Highest output tokens of all choices, with reasoning that is counted beside them. */
  outputTokens: number;
  /** The service sends all reasoning. */
  showsReasoning: boolean;
}

interface PricingInput {
  body: ChatBody;
  accountId: string;
  messages: ChatMessage[];
  e2eeHeaders?: Record<string, string>;
  configured: ConfiguredProviders;
  /** Prompt of the messages, tools and settings. */
  prompt: PromptEstimate;
  lookup: Pick<WebLookup, 'addOns' | 'promptTokens'> | undefined;
}

/** Tokens of the posts that a search on X adds to a prompt. */
const X_SEARCH_TOKENS = 16_384;

export function priceAttempt({ model }: ChatAttempt, order: PricingInput): PricedRequest {
  const { body, lookup, prompt, configured } = order;
  const asked = model === prompt.model ? prompt.request : toChatRequest({ ...order, model });
  const media = mediaTokensOf(asked.messages, asked.mediaTokens);
  const added = (lookup?.promptTokens ?? 0) + (asked.xSearch ? X_SEARCH_TOKENS : 0);
  const promptTokens = prompt.textTokens + media + added;
  const request = { ...asked };
  request.maxTokens = maxTokensOf(body, model, promptTokens);
  const { reasoningBeside, showsReasoning } = textFeaturesOf(configured, model);
  const beside = reasoningBeside ? reasoningBesideOf(request) : 0;
  const outputTokens = (request.maxTokens + beside) * request.n;
  const cachesForHour = asksForHourCache(request);
  const tokens = boundOf(model.spec.pricing, { promptTokens, outputTokens, cachesForHour });
  const bound = plus(tokens, priceOfAddOns(addOnsOf(request, lookup?.addOns)));
  return { request, bound, promptTokens, outputTokens, showsReasoning };
}

/** `found`: lookups of this service; an X search is the model's own. */
export function addOnsOf({ xSearch }: ChatRequest, found: readonly AddOn[] = []): AddOn[] {
  return [...found, ...(xSearch ? [{ kind: 'X search', count: 1, price: X_SEARCH_PRICE } as const] : [])];
}

const MEDIA = { image_url: 'image', input_audio: 'audio', video_url: 'video' } as const;

/** Features that a chat body asks for, and where. Whether a file is a picture is known when it is read (`attemptsWithVision`). */
function featuresOf(body: ChatBody): Map<Feature, string> {
  const asked = new Map<Feature, string>();
  for (const message of body.messages) noteMedia(asked, message);
  const tools = (body.tools ?? []).some((tool) => tool.type === 'function');
  if (tools) asked.set('tools', 'tools');
  else if (body.tool_choice != null && body.tool_choice !== 'none') asked.set('tools', 'tool_choice');
  else if (body.parallel_tool_calls === true) asked.set('tools', 'parallel_tool_calls');
  if (body.response_format && body.response_format.type !== 'text') asked.set('schema', 'response_format');
  if (body.logprobs === true) asked.set('logprobs', 'logprobs');
  else if (body.top_logprobs != null) asked.set('logprobs', 'top_logprobs');
  if (body.service_parameters.enable_web_search !== 'off') asked.set('webSearch', 'service_parameters');
  return asked;
}

function noteMedia(asked: Map<Feature, string>, message: SentMessage): void {
  if (message.role !== 'user' || typeof message.content === 'string') return;
  for (const { type } of message.content) {
    if (type !== 'text' && type !== 'file') asked.set(MEDIA[type], 'messages');
  }
}
