/** Bill of a conversation and of its lookups. */
import type { TextModel } from '../../domain/catalogue/model.ts';
import type { AddOn } from '../../domain/text/addOns.ts';
import type { ChatMessage, TokenUsage } from '../../domain/text/chat.ts';
import { mayHideReasoning, withUnseenReasoning } from '../../domain/text/leftStream.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { addOnsOf, type PricedRequest } from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';
import { type CallBill, type CallOrder, type ModelCall, settleCall } from './modelCall.ts';
import type { CountedUsage, Tally } from './tally.ts';
import type { WebLookup } from './web/webLookup.ts';
import type { WebResults } from './web/webResults.ts';

export interface PricedChat extends PricedRequest {
  /** Results of lookups, which the request contains. */
  webResults?: WebResults;
}

export type ChatOrder = CallOrder<TextModel, PricedChat, ChatBody>;
export type ChatCall = ModelCall<TextModel, PricedChat>;

/** Adds the results of lookups to the request. Lookups run after the hold, once for all models that are tried. */
export async function addWebResults(lookup: WebLookup, priced: PricedChat): Promise<PricedChat> {
  const webResults = await lookup.results();
  const messages = withBlock(priced.request.messages, webResults.block);
  return { ...priced, request: { ...priced.request, messages }, webResults };
}

/** Inserted after the leading system messages, where the cacheable prefix of a prompt ends anyway. */
function withBlock(messages: readonly ChatMessage[], block: string): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const at = first < 0 ? messages.length : first;
  return messages.toSpliced(at, 0, { role: 'system', content: block });
}

/** Farebox closed the connection because the client had left; the upstream had the request by then. */
export function isLeftByClient({ leftAt }: Pick<ChatCall, 'leftAt'>, error: unknown): boolean {
  return leftAt() !== undefined && error instanceof UpstreamFailure && error.reason === 'lost';
}

export interface ChatEnd {
  counted: CountedUsage;
  /**
   * The client has received the results of lookups, or the beginning of the answer.
   */
  isShown: boolean;
  /** The client left before the end. */
  clientLeft?: boolean;
  /** The answer is complete and was not slowed by the client: its duration measures the rate of the model. */
  isPaced?: boolean;
  /** Remarks for the notes of the ledger entry. */
  remarks?: readonly string[];
}

/** Writes the bill of a conversation and of its lookups; resolves when it stands. */
export function settleChat(call: ChatCall, end: ChatEnd): Promise<CallBill> {
  const { request, webResults } = call;
  const { counted, isShown, clientLeft = false, isPaced = false, remarks = [] } = end;
  if (isPaced) noteSpeed(call, counted);
  const found = webResults?.addOns ?? [];
  const isEmpty = counted.usage.completionTokens === 0;
  // A client that left pays for lookups as one that received them.
  const isOwed = isShown || call.leftAt() !== undefined;
  // The model itself searches on X: only an answer shows that it did.
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

/** Writes the bill of a search whose client left before a model was called. */
export function settleSearch(call: ChatCall, addOns: readonly AddOn[]): Promise<CallBill> {
  const remarks = ['left while the search engine was asked'];
  return settleCall(call, { usage: NO_TOKENS, counted: false, addOns, remarks });
}

/** Several choices are generated in parallel, so they measure no rate. */
function noteSpeed(call: ChatCall, { usage: { completionTokens }, counted }: CountedUsage): void {
  if (counted || call.request.n !== 1) return;
  const elapsedMs = performance.now() - call.startedAt;
  call.answerSpeeds.note(call.attempt.model.id, { completionTokens, elapsedMs });
}

/** Writes the bill of a stream whose client left before its end. */
export async function settleLeft(call: ChatCall, tally: Tally, isShown: boolean): Promise<CallBill> {
  const { counted, usage: received } = await tally.countLeft(call.request);
  const { usage, remarks } = withUnseenReasoning(received, {
    ...{ model: call.attempt.model, heldTokens: call.outputTokens },
    measuredTokensPerSecond: call.answerSpeeds.tokensPerSecondOf(call.attempt.model.id),
    elapsedMs: mayHaveHidden(call, tally) ? performance.now() - call.startedAt : 0,
  });
  return await settleChat(call, { counted: { usage, counted }, isShown, clientLeft: true, remarks });
}

/** Whether the model may have reasoned unseen for a client that left. */
function mayHaveHidden({ request, provider, showsReasoning, leftAt }: ChatCall, tally: Tally): boolean {
  if (leftAt() === undefined || tally.isUsageFinal(request)) return false;
  const mayReason = provider.mayReason?.(request) ?? true;
  return mayHideReasoning({ request, showsReasoning, mayReason, isShown: tally.hasReasoning });
}
