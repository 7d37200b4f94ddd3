/** POST /chat/completions (TEXT-1, TEXT-16). */

import { keyScopeOf } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { nanoToNumberDown } from '../../domain/money.ts';
import { estimateTexts } from '../../engines/text/estimateInTurns.ts';
import { spendableOf } from '../../infra/postgres/spendable.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, events, json, releasing } from '../http/answer.ts';
import { modelHeaders } from '../http/modelHeaders.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import { deadlineError, restarting } from '../http/upstreamErrors.ts';
import { isDryRun } from '../paid/dryRun.ts';
import { settleAfterStream } from '../paid/purchase.ts';
import { countUnpaidReading } from '../paid/readings.ts';
import type { AnswerForm } from './answerForm.ts';
import { type ChatBody, chatBody, ignoredFieldsOf } from './chatBody.ts';
import { type ChatCall, type ChatOrder, isLeftByClient, settleChat, settleLeft } from './chatCall.ts';
import { openOrder } from './chatOrder.ts';
import { type StreamTerms, streamChat } from './chatStream.ts';
import { needsReading } from './mediaParts.ts';
import { askModelsInOrder, type CallBill, chatId, noteTokens, requireRecipient } from './modelCall.ts';
import { CHAT_DESCRIPTION } from './openapi.ts';
import { type AnswerHeading, isStripped, presentChoice, presentCost, presentUsage } from './present.ts';
import { rewriteChat } from './rewriteChat.ts';
import { StreamWriter } from './streamWriter.ts';
import { countCompletion, Tally } from './tally.ts';
import { effectiveParameters, withDocuments } from './web/presentWebResults.ts';

/** Base64 media included (API-3). */
export const MAX_BODY_BYTES = 35 * 1024 * 1024;
/** Below the idle time after which connections are closed; a longer answer has to stream (TEXT-15). */
export const DEADLINE_MS = 140_000;

export const chatRoute = defineRoute({
  method: 'POST',
  path: '/chat/completions',
  access: 'buyer',
  body: {
    json: { schema: chatBody, maxBytes: MAX_BODY_BYTES, rewrite: rewriteChat },
    needsModel: true,
    modelType: 'text',
  },
  estimateTokens: estimateChat,
  deadlineMs: DEADLINE_MS,
  describes: CHAT_DESCRIPTION,
  async handler(dependencies, request) {
    const answer = await answerChat(dependencies, request, chatForm(request.body));
    const ignored = ignoredFieldsOf(request.body);
    if (ignored.length === 0) return answer;
    return { ...answer, headers: { ...answer.headers, 'x-service-ignored': ignored.join(', ') } };
  },
});

/** Answers a request for text, in any form. */
export async function answerChat(
  dependencies: Dependencies,
  request: RouteRequest<ChatBody, unknown, 'buyer'>,
  form: AnswerForm,
): Promise<Answer> {
  const reservedBytes = dependencies.limits.mediaBudget.open(request.caller.accountId);
  let order: ChatOrder | undefined;
  try {
    order = await openOrder(dependencies, request, { form, reservedBytes });
    return releasing(await answerOrder(dependencies, order, form), reservedBytes.release);
  } catch (error) {
    reservedBytes.release();
    if (isUnpaidReading(error, order)) await countReadings(dependencies, request);
    throw error;
  }
}

/** No model was called, so nothing pays for the reading. Without an order funds were missing before any reading. */
function isUnpaidReading(error: unknown, order: ChatOrder | undefined): boolean {
  if (!(error instanceof FareboxError)) return false;
  if (error.code === 'context_length_exceeded') return true;
  return order !== undefined && (error.code === 'insufficient_balance' || error.code === 'key_limit_exceeded');
}

async function countReadings(
  dependencies: Dependencies,
  { body, caller }: RouteRequest<ChatBody, unknown, 'buyer'>,
): Promise<void> {
  if (needsReading(body)) await countUnpaidReading(dependencies, caller.accountId);
}

async function answerOrder(dependencies: Dependencies, order: ChatOrder, form: AnswerForm): Promise<Answer> {
  const { request } = order;
  if (isDryRun(request)) {
    await countReadings(dependencies, request);
    return dryRun(order);
  }
  return request.body.stream ? await streamed(dependencies, order, form) : await whole(dependencies, order, form);
}

export function estimateChat({ messages }: ChatBody): number | Promise<number> {
  return estimateTexts(messages.flatMap(({ content }) => textsOf(content)));
}

function textsOf(content: ChatBody['messages'][number]['content']): string[] {
  if (typeof content === 'string') return [content];
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

/** Beyond the published API: the highest cost of the call, without making it. */
function dryRun({ attempts, price }: ChatOrder): Answer {
  const bounds = attempts.map((attempt) => {
    const { bound, promptTokens, request: chat } = price(attempt);
    return {
      model: attempt.model.id,
      cost: presentCost(bound),
      prompt_tokens: promptTokens,
      completion_tokens: chat.maxTokens * chat.n,
    };
  });
  return json({ object: 'dry_run', bounds });
}

async function whole(dependencies: Dependencies, order: ChatOrder, form: AnswerForm): Promise<Answer> {
  const { request } = order;
  return await askModelsInOrder(dependencies, order, async (call) => {
    const { signal } = call;
    const { complete } = call.provider;
    if (!complete) throw new FareboxError({ code: 'model_offline', message: `${call.attempt.model.id} is offline.` });
    const completion = await request.waitFor(complete(call.request, { signal })).catch(async (error) => {
      if (isLeftByClient(call, error)) await noteTokens(request, await settleLeft(call, new Tally(), false));
      throw error;
    });
    requireRecipient(request);
    const counted = await countCompletion(call.request, completion);
    const [settled] = await Promise.all([
      settleChat(call, { counted, isShown: true, isPaced: true }),
      noteTokens(request, counted),
    ]);
    const body = form.whole({ heading: headingOf(order, call), call, completion, settled });
    return { compressible: true, ...json(body, { headers: modelHeaders(request, call.attempt) }) };
  });
}

async function streamed(dependencies: Dependencies, order: ChatOrder, form: AnswerForm): Promise<Answer> {
  const { request } = order;
  return await askModelsInOrder(dependencies, order, async (call) => {
    const { signal } = call;
    const { stream: open } = call.provider;
    if (!open) throw new FareboxError({ code: 'model_offline', message: `${call.attempt.model.id} is offline.` });
    const onSettled = (settled: CallBill) => afterBill(dependencies, { form, order, settled });
    const stream = await request.waitFor(open(call.request, { signal })).catch(async (error: unknown) => {
      if (request.ending.aborted) throw restarting();
      if (isLeftByClient(call, error)) await onSettled(await settleLeft(call, new Tally(), false));
      throw error;
    });
    if (request.expired) throw deadlineError();
    const writer = form.stream({ heading: headingOf(order, call), call });
    const terms: StreamTerms = { call, stream, writer, request, onSettled };
    const tell = settleAfterStream(call.hold, (take) => streamChat(terms, take));
    return events(tell, { headers: modelHeaders(request, call.attempt) });
  });
}

interface AfterBill {
  form: AnswerForm;
  order: ChatOrder;
  settled: CallBill;
}

async function afterBill({ core: { sql } }: Dependencies, { form, order, settled }: AfterBill) {
  const { caller, log } = order.request;
  const noted = noteTokens(order.request, settled);
  if (!form.tellsBalance) {
    await noted;
    return {};
  }
  try {
    const whose = { accountId: caller.accountId, withinKey: keyScopeOf(caller) };
    const balance = await spendableOf(sql, whose);
    await noted;
    if (!balance) return {};
    const { usd, bundled, diem } = balance;
    return { balance: { usd: nanoToNumberDown(usd + bundled), diem: nanoToNumberDown(diem) } };
  } catch (error) {
    // The bill stands, and the answer is complete without the balance.
    log.warn({ err: error }, 'the balance after a stream could not be read');
    return {};
  }
}

function headingOf({ request }: ChatOrder, { attempt }: ChatCall): AnswerHeading {
  const created = Math.floor(Date.now() / 1_000);
  return { id: chatId(request.requestId), created, model: attempt.model.id };
}

/** Answer in the form of a chat completion (TEXT-16, TEXT-20). */
function chatForm({ service_parameters: parameters }: ChatBody): AnswerForm {
  const stripped = isStripped(parameters);
  return {
    choose: (attempts) => attempts,
    whole: ({ heading: { id, created, model }, call, completion, settled }) => ({
      id,
      object: 'chat.completion',
      created,
      model,
      choices: withDocuments(
        completion.choices.map((choice) => presentChoice(choice, stripped)),
        { call, parameters },
      ),
      usage: presentUsage(settled.usage),
      cost: presentCost(settled.cost),
      prompt_logprobs: null,
      service_parameters: effectiveParameters({ call, parameters }),
    }),
    stream: ({ heading, call }) => new StreamWriter(heading, { call, parameters }),
    tellsBalance: true,
  };
}
