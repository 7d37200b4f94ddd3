/** Checks a chat request and prepares it for the models: all that can be refused before the hold. */
import { priceOfAddOns } from '../../domain/text/addOns.ts';
import type { ChatMessage } from '../../domain/text/chat.ts';
import { onDisconnectOf } from '../../domain/text/leftStream.ts';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import { releaseWithinBudget } from '../paid/purchase.ts';
import { holdForReading } from '../paid/readings.ts';
import type { AnswerForm } from './answerForm.ts';
import {
  attemptsWithinContext,
  attemptsWithVision,
  characterOf,
  chatAttempts,
  estimatePrompt,
  priceAttempt,
} from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';
import { addWebResults, type ChatCall, type ChatOrder, type PricedChat, settleSearch } from './chatCall.ts';
import { encryptionOf } from './encryption.ts';
import { fetchMedia, needsReading } from './mediaParts.ts';
import { WHOLE_DRAIN_MS } from './modelCall.ts';
import { toMessages } from './toChatRequest.ts';
import { limitPageFetches, planWebLookup, refuseWithoutEngine, type WebLookup } from './web/webLookup.ts';

type ChatRouteRequest = RouteRequest<ChatBody, unknown, 'buyer'>;

interface OrderInput {
  form: AnswerForm;
  /** Memory of the fetched media. */
  reservedBytes: ReservedBytes;
}

/** Throws FareboxError for an invalid request. */
export async function openOrder(
  dependencies: Dependencies,
  request: ChatRouteRequest,
  { form, reservedBytes }: OrderInput,
): Promise<ChatOrder> {
  const { body, caller } = request;
  refuseWithoutEngine(dependencies, body);
  const able = form.choose(chatAttempts(dependencies.core.config, request));
  const [first] = able;
  request.requireFundsFor(first.model);
  const e2eeHeaders = encryptionOf(dependencies.core.config, request, first.model);
  // A prompt that is encrypted for one model cannot be read or extended by another, or by this service.
  const messages = e2eeHeaders
    ? toMessages(body.messages, () => undefined)
    : await messagesOf(dependencies, request, reservedBytes);
  const asked = {
    body,
    accountId: caller.accountId,
    messages,
    configured: dependencies.core.config,
    ...(e2eeHeaders && { e2eeHeaders }),
  };
  const prompt = await estimatePrompt({ model: first.model, ...asked });
  const departure = departureOf(dependencies.core.config, body);
  if (e2eeHeaders) {
    const price: ChatOrder['price'] = (attempt) => priceAttempt(attempt, { prompt, lookup: undefined, ...asked });
    return { request, attempts: [first], price, ...departure };
  }
  const attempts = await attemptsWithinContext(attemptsWithVision(able, messages), prompt);
  const lookup = planWebLookup(dependencies, request, attempts[0].model);
  await limitPageFetches(dependencies, caller.accountId, lookup);
  return {
    request,
    attempts,
    price: (attempt) => priceAttempt(attempt, { prompt, lookup, ...asked }),
    ...departure,
    ...(lookup && { inform: (call: ChatCall) => informed(dependencies, request, { call, lookup }) }),
  };
}

/** The search engine is paid even when the client leaves before a model is called. */
async function informed(
  dependencies: Dependencies,
  request: ChatRouteRequest,
  { call, lookup }: { call: ChatCall; lookup: WebLookup },
): Promise<PricedChat> {
  const isAsked = !request.signal.aborted;
  try {
    return await addWebResults(lookup, call);
  } catch (error) {
    if (isAsked && request.hasLeft && !lookup.visits) {
      await releaseWithinBudget(dependencies, request, {
        usd: priceOfAddOns(lookup.addOns).usd,
        hold: call.hold,
        bill: () => settleSearch(call, lookup.addOns),
      });
    }
    throw error;
  }
}

/** A whole answer is read to its end for a client that has left: only its end has the usage. */
export function departureOf(
  { providers }: Pick<Config, 'providers'>,
  { stream }: Pick<ChatBody, 'stream'>,
): Pick<ChatOrder, 'drainMs' | 'isStream'> {
  if (!stream) return { drainMs: () => WHOLE_DRAIN_MS };
  return {
    isStream: true,
    drainMs: (model) => (onDisconnectOf(model, providers) === 'abort' ? 0 : WHOLE_DRAIN_MS),
  };
}

async function messagesOf(
  dependencies: Dependencies,
  request: ChatRouteRequest,
  reservedBytes: ReservedBytes,
): Promise<ChatMessage[]> {
  const { config } = dependencies.core;
  const { body } = request;
  const fetchAll = () => fetchMedia(dependencies, request, reservedBytes);
  const media = needsReading(body) ? await holdForReading(dependencies, request, fetchAll) : await fetchAll();
  const result: ChatMessage[] = [];
  const prompt = config.brand.systemPrompt;
  if (prompt !== '' && body.service_parameters.include_service_system_prompt) {
    result.push({ role: 'system', content: prompt });
  }
  const character = characterOf(config, body);
  if (character) result.push({ role: 'system', content: character.systemPrompt });
  return [...result, ...toMessages(body.messages, media)];
}
