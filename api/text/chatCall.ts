/** A conversation that is priced, asked and billed, with what was looked up for it. */
import type { TextModel } from '../../domain/catalogue/model.ts';
import type { ChatMessage } from '../../domain/text/chat.ts';
import { addOnsOf, type PricedRequest } from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';
import { type CallOrder, type ModelCall, type Settled, settleCall } from './modelCall.ts';
import type { Counted } from './tally.ts';
import type { Errand } from './web/errand.ts';
import type { Findings } from './web/findings.ts';

export interface PricedChat extends PricedRequest {
  /** What was looked up for it; the request has it already. */
  findings?: Findings;
}

export type ChatOrder = CallOrder<TextModel, PricedChat, ChatBody>;
export type ChatCall = ModelCall<TextModel, PricedChat>;

/** With what was found in the request: looked up behind the hold, once for all models that are tried. */
export async function informedBy(errand: Errand, priced: PricedChat): Promise<PricedChat> {
  const findings = await errand.findings();
  const messages = withBlock(priced.request.messages, findings.block);
  return { ...priced, request: { ...priced.request, messages }, findings };
}

/** Behind what leads the conversation: there a prompt that is the same each time ends anyway. */
function withBlock(messages: readonly ChatMessage[], block: string): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const at = first < 0 ? messages.length : first;
  return messages.toSpliced(at, 0, { role: 'system', content: block });
}

/** Writes the bill of a conversation and of what was looked up for it; resolves when it stands. */
export function settleChat(call: ChatCall, counted: Counted): Promise<Settled> {
  const { request, findings } = call;
  const addOns = addOnsOf(request, findings?.addOns);
  return settleCall(call, { ...counted, addOns, ...(findings && { remarks: findings.remarks }) });
}
