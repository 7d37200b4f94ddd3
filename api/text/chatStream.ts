/** Answer as server-sent events (TEXT-20, TEXT-26). However it ends, the output is billed once (TEXT-23). */
import type { ChatEvent } from '../../domain/text/chat.ts';
import type { ChatStream } from '../../providers/shared/textProvider.ts';
import type { TakeText } from '../http/answer.ts';
import { restarting } from '../http/upstreamErrors.ts';
import type { StreamForm } from './answerForm.ts';
import { type ChatCall, settleChat, settleLeft } from './chatCall.ts';
import type { CallBill } from './modelCall.ts';
import { Tally } from './tally.ts';

export interface StreamTerms {
  call: ChatCall;
  stream: ChatStream;
  /** Writer of the events. */
  writer: StreamForm;
  /** Whether the client got the deadline error, or the process ends. */
  request: { readonly expired: boolean; readonly ending: AbortSignal };
  /** Runs after the bill: reads the balance, counts the tokens for the limits. */
  onSettled(settled: CallBill): Promise<{ balance?: object }>;
}

const DONE = 'data: [DONE]\n\n';

/** Resolves when the bill stands, also when the client is gone: then nothing is sent, and the begun work is billed. */
export async function streamChat(terms: StreamTerms, take: TakeText): Promise<void> {
  const { call, stream, writer } = terms;
  const relayed: Relay = {
    ...{ writer, tally: new Tally(), take, isShown: false, isPaced: true },
    events: stream.events[Symbol.asyncIterator](),
  };
  if (terms.request.expired) return await drop(call, relayed);
  const end = await relay(relayed).catch(async (error: unknown) => {
    await closeSilently(terms, relayed);
    throw error;
  });
  if (end === 'left' || call.leftAt() !== undefined) return await closeSilently(terms, relayed);
  const { bill, after } = await close(terms, relayed, end.whole);
  if (end.whole) await take(writer.end(bill, after) + DONE);
  else await take(writer.failed(terms.request.ending.aborted ? restarting() : end.failure, bill) + DONE);
}

interface Relay {
  writer: StreamForm;
  tally: Tally;
  events: AsyncIterator<ChatEvent[]>;
  take: TakeText;
  /** The client has received the beginning, with the results of lookups. */
  isShown: boolean;
  /** Nothing waited for the client, which could make the service look slow. */
  isPaced: boolean;
}

/** `left`: the client is gone before the upstream has ended. */
async function relay(relayed: Relay): Promise<{ whole: boolean; failure?: unknown } | 'left'> {
  const { writer, tally, events, take } = relayed;
  const beginning = writer.begin();
  if (!(await take(beginning))) return 'left';
  relayed.isShown = beginning !== '';
  for (;;) {
    let text: string;
    try {
      const next = await events.next();
      if (next.done) return { whole: true };
      for (const event of next.value) tally.add(event);
      text = writer.write(next.value);
    } catch (failure) {
      return { whole: false, failure };
    }
    // A text that was taken at once needs no await, which would be one per token of every stream (bench `chat`).
    const taken = text === '' || take(text);
    if (taken === true) continue;
    relayed.isPaced = false;
    if (!(await taken)) return 'left';
  }
}

/** The client got an error: it does not pay for what came after. */
async function drop({ end, hold }: ChatCall, { events }: Relay): Promise<void> {
  end();
  await events.return?.();
  await hold.release();
}

/** The client is gone: the upstream is read until it ends, or until `onDisconnect` ends it. */
async function closeSilently(terms: StreamTerms, relayed: Relay): Promise<void> {
  const { call, onSettled } = terms;
  if (await readToEnd(relayed)) {
    await close(terms, relayed, true);
    return;
  }
  await onSettled(await settleLeft(call, relayed.tally, relayed.isShown));
}

/** False: the stream was cut, because the client left or by itself. What came until then is counted. */
async function readToEnd({ events, tally }: Relay): Promise<boolean> {
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) return true;
      for (const event of next.value) tally.add(event);
    }
  } catch {
    return false;
  }
}

interface StreamEnd {
  bill: CallBill;
  after: { balance?: object };
}

async function close(
  { call, onSettled }: StreamTerms,
  { tally, isShown, isPaced }: Relay,
  whole: boolean,
): Promise<StreamEnd> {
  const counted = await tally.count(call.request, whole);
  const bill = await settleChat(call, { counted, isShown, isPaced: isPaced && whole });
  return { bill, after: await onSettled(bill) };
}
