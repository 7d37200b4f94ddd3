/** An answer as server-sent events (api-facts 12.1 and 12.2). Whatever ends it, what was produced is billed once. */
import type { ChatEvent } from '../../domain/text/chat.ts';
import type { ChatStream } from '../../providers/textProvider.ts';
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

export const DONE = 'data: [DONE]\n\n';

export async function* chatEvents(terms: StreamTerms): AsyncGenerator<string, void> {
  const { stream, writer } = terms;
  const tally = new Tally();
  const iterator = stream.events[Symbol.asyncIterator]();
  let ended: 'no' | 'whole' | 'broken' = 'no';
  let settled: Promise<Ended> | undefined;
  const settle = () => {
    settled ??= close(terms, tally, ended === 'whole');
    return settled;
  };
  try {
    const begun = writer.begin();
    if (begun !== '') yield begun;
    let failure: unknown;
    while (ended === 'no') {
      try {
        const next = await iterator.next();
        if (next.done) ended = 'whole';
        else {
          for (const event of next.value) tally.add(event);
          const text = writer.write(next.value);
          if (text !== '') yield text;
        }
      } catch (error) {
        ended = 'broken';
        failure = error;
      }
    }
    const { bill, after } = await settle();
    yield ended === 'broken' ? writer.failed(failure, bill) : writer.end(bill, after);
    yield DONE;
  } finally {
    if (settled === undefined) {
      if (ended === 'no') ended = await drain(iterator, tally);
      await settle();
    }
  }
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
