/** A conversation that is priced, asked and billed, with what was looked up for it. */
import type { TextModel } from '../../domain/catalogue/model.ts';
import type { AddOn } from '../../domain/text/addOns.ts';
import type { ChatMessage, TokenUsage } from '../../domain/text/chat.ts';
import { mayHideReasoning, withUnseenReasoning } from '../../domain/text/leftStream.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { addOnsOf, type PricedRequest } from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';
import { type CallOrder, type ModelCall, type Settled, settleCall } from './modelCall.ts';
import type { CountedUsage, Tally } from './tally.ts';
import type { WebLookup } from './web/webLookup.ts';
import type { WebResults } from './web/webResults.ts';

export interface PricedChat extends PricedRequest {
  /** What was looked up for it; the request has it already. */
  webResults?: WebResults;
}

export type ChatOrder = CallOrder<TextModel, PricedChat, ChatBody>;
export type ChatCall = ModelCall<TextModel, PricedChat>;

/** With what was found in the request: looked up behind the hold, once for all models that are tried. */
export async function addWebResults(lookup: WebLookup, priced: PricedChat): Promise<PricedChat> {
  const webResults = await lookup.results();
  const messages = withBlock(priced.request.messages, webResults.block);
  return { ...priced, request: { ...priced.request, messages }, webResults };
}

/** Behind what leads the conversation: there a prompt that is the same each time ends anyway. */
function withBlock(messages: readonly ChatMessage[], block: string): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const at = first < 0 ? messages.length : first;
  return messages.toSpliced(at, 0, { role: 'system', content: block });
}

/** We broke the connection, because the client had left; the service had the request by then. */
export function isLeftByClient({ leftAt }: Pick<ChatCall, 'leftAt'>, error: unknown): boolean {
  return leftAt() !== undefined && error instanceof UpstreamFailure && error.reason === 'lost';
}

export interface ChatEnd {
  counted: CountedUsage;
  /**
   * The client has what was looked up, or the beginning of the answer that was made of it. It pays for both also where it left
   * before that.
   */
  isShown: boolean;
  /** It left before the end. */
  clientLeft?: boolean;
  /** It came whole, and as fast as its service sent it: its seconds tell the rate of the model. */
  isPaced?: boolean;
  /** For the notes of the entry. */
  remarks?: readonly string[];
}

/** Writes the bill of a conversation and of what was looked up for it; resolves when it stands. */
export function settleChat(call: ChatCall, end: ChatEnd): Promise<Settled> {
  const { request, webResults } = call;
  const { counted, isShown, clientLeft = false, isPaced = false, remarks = [] } = end;
  if (isPaced) noteSpeed(call, counted);
  const found = webResults?.addOns ?? [];
  const isEmpty = counted.usage.completionTokens === 0;
  const isOwed = isShown || call.leftAt() !== undefined;
  // A search on X is the model's own: only its answer shows that there was one.
  const addOns = isEmpty ? (isOwed ? found : []) : addOnsOf(request, found);
  return settleCall(call, {
    usage: counted.usage,
    counted: counted.counted,
    addOns,
    clientLeft,
    remarks: webResults ? [...webResults.remarks, ...remarks] : remarks,
  });
}

const NO_TOKENS: TokenUsage = {
  ...{ promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 },
};

/** The bill of a search whose client left before a model was asked. */
export function settleSearch(call: ChatCall, addOns: readonly AddOn[]): Promise<Settled> {
  const remarks = ['left while the search engine was asked'];
  return settleCall(call, { usage: NO_TOKENS, counted: false, addOns, remarks });
}

/** Several choices are written side by side, so they tell no rate. */
function noteSpeed(call: ChatCall, { usage: { completionTokens }, counted }: CountedUsage): void {
  if (counted || call.request.n !== 1) return;
  const elapsedMs = performance.now() - call.startedAt;
  call.answerSpeeds.note(call.attempt.model.id, { completionTokens, elapsedMs });
}

/** The bill of a stream whose client did not wait for its end. */
export async function settleLeft(call: ChatCall, tally: Tally, isShown: boolean): Promise<Settled> {
  const { counted, usage: received } = await tally.countLeft(call.request);
  const { usage, remarks } = withUnseenReasoning(received, {
    ...{ model: call.attempt.model, heldTokens: call.outputTokens },
    measuredTokensPerSecond: call.answerSpeeds.tokensPerSecondOf(call.attempt.model.id),
    elapsedMs: mayHaveHidden(call, tally) ? performance.now() - call.startedAt : 0,
  });
  return await settleChat(call, { counted: { usage, counted }, isShown, clientLeft: true, remarks });
}

/** Reasoning that was made for a client that left. */
function mayHaveHidden({ request, provider, showsReasoning, leftAt }: ChatCall, tally: Tally): boolean {
  if (leftAt() === undefined || tally.isToldWhole(request)) return false;
  const mayReason = provider.mayReason?.(request) ?? true;
  return mayHideReasoning({ request, showsReasoning, mayReason, isShown: tally.hasReasoning });
}
