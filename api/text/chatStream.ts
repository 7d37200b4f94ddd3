/** An answer as server-sent events (api-facts 12.1 and 12.2). Whatever ends it, what was produced is billed once. */
import type { ChatEvent } from '../../domain/text/chat.ts';
import type { ChatStream } from '../../providers/textProvider.ts';
import type { TakeText } from '../answer.ts';
import type { StreamForm } from './answerForm.ts';
import { type ChatCall, settleChat } from './chatCall.ts';
import { DRAIN_MS, type Settled } from './modelCall.ts';
import { Tally } from './tally.ts';

export interface StreamTerms {
  call: ChatCall;
  stream: ChatStream;
  /** How the events are written down. */
  writer: StreamForm;
  /** What follows the bill: the account's balance, the tokens for the limits. */
  onSettled(settled: Settled): Promise<{ balance?: object }>;
}

const DONE = 'data: [DONE]\n\n';

/** Resolves when the bill stands, also where nobody takes any text: then nothing is told, and what was begun is billed. */
export async function tellChat(terms: StreamTerms, take: TakeText): Promise<void> {
  const { stream, writer } = terms;
  const relayed: Relay = { writer, tally: new Tally(), events: stream.events[Symbol.asyncIterator](), take };
  const end = await relay(relayed).catch(async (error: unknown) => {
    await closeUntold(terms, relayed);
    throw error;
  });
  if (end === undefined) return await closeUntold(terms, relayed);
  const { bill, after } = await close(terms, relayed.tally, end.whole);
  await take((end.whole ? writer.end(bill, after) : writer.failed(end.failure, bill)) + DONE);
}

interface Relay {
  writer: StreamForm;
  tally: Tally;
  events: AsyncIterator<ChatEvent[]>;
  take: TakeText;
}

/** Undefined: the client is gone, and the upstream is not yet through. */
async function relay(relayed: Relay): Promise<{ whole: boolean; failure?: unknown } | undefined> {
  const { writer, tally, events, take } = relayed;
  const begun = writer.begin();
  if (begun !== '' && !(await take(begun))) return undefined;
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
    // No wait for what was taken at once: it would be one per token of every stream.
    const taken = text === '' || take(text);
    if (taken !== true && !(await taken)) return undefined;
  }
}

async function closeUntold(terms: StreamTerms, { events, tally }: Relay): Promise<void> {
  await close(terms, tally, (await drain(events, tally)) === 'whole');
}

/** The client is gone: what the upstream still sends within the bound is read, so that its own count is the one billed. */
async function drain(iterator: AsyncIterator<ChatEvent[]>, tally: Tally): Promise<'whole' | 'broken'> {
  const until = performance.now() + DRAIN_MS;
  try {
    while (performance.now() < until) {
      const next = await iterator.next();
      if (next.done) return 'whole';
      for (const event of next.value) tally.add(event);
    }
    await iterator.return?.();
  } catch {
    // Cut, by the bound or by itself: what came until then is counted.
  }
  return 'broken';
}

interface Ended {
  bill: Settled;
  after: { balance?: object };
}

async function close({ call, onSettled }: StreamTerms, tally: Tally, whole: boolean): Promise<Ended> {
  const bill = await settleChat(call, await tally.count(call.request, whole));
  return { bill, after: await onSettled(bill) };
}
