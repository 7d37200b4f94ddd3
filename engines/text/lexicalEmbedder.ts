/**
 * Embeds texts in a child process. Batches of a large request alternate with those of other accounts. Each account has
 * at most one request in progress.
 */

import { createSemaphore, type Semaphore } from '../../infra/semaphore.ts';
import { TooManyWait, tooBusy } from '../../infra/tooBusy.ts';
import { type ChildAnswer, createChildPool } from '../child/childPool.ts';
import { shippedChild } from '../child/keptChild.ts';

export interface EmbedQuestion {
  inputs: readonly string[];
  dimensions: number;
}

export interface EmbedAnswer extends ChildAnswer {
  vectors: Float32Array[];
}

interface EmbedOrder extends EmbedQuestion {
  /** Account for the fair order of turns. */
  account: string;
}

export interface LexicalEmbedder {
  /** Rejects with FareboxError `unavailable` when too many wait, and with the signal's reason on abort. */
  embed(order: EmbedOrder, signal: AbortSignal): Promise<Float32Array[]>;
  close(): void;
}

/** A batch ends with the input that exceeds one of these, after some milliseconds of work. */
const BATCH_LETTERS = 64 * 1024;
const BATCH_NUMBERS = 64 * 1024;
const BATCH_LIMIT_MS = 20_000;
const MAX_WAIT_MS = 20_000;
const MAX_ACCOUNTS_WAITING = 256;
const MAX_REQUESTS_WAITING = 64;
const CHILD = { heapMb: 256, memoryMb: 512, cpuSeconds: 3_600, filesPerChild: 50_000, maxChildren: 1 };

const busy = tooBusy('texts are being embedded', 5);

export function createLexicalEmbedder(childPath = shippedChild('engines/text/embedChild')): LexicalEmbedder {
  const pool = createChildPool<EmbedQuestion, EmbedAnswer>({
    ...CHILD,
    ...{ path: childPath, name: 'embedding', timeoutMs: BATCH_LIMIT_MS },
    ...{ maxWaiting: MAX_ACCOUNTS_WAITING, maxWaitMs: MAX_WAIT_MS },
  });
  const accounts = new Map<string, { turns: Semaphore; requests: number }>();

  async function embedBatches(order: EmbedQuestion, signal: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (const batch of batchesOf(order)) {
      signal.throwIfAborted();
      // Not aborted, because that would kill the child, and a batch ends before a new child has started.
      const answer = await pool.ask(batch);
      if (!answer) throw new TooManyWait('the child did not answer in time');
      vectors.push(...answer.vectors);
    }
    return vectors;
  }

  return {
    async embed({ account, ...order }, signal) {
      const own = accounts.get(account) ?? { turns: turnsOfAccount(), requests: 0 };
      accounts.set(account, own);
      own.requests += 1;
      try {
        return await own.turns.run(() => embedBatches(order, signal), signal).catch(busy);
      } finally {
        own.requests -= 1;
        if (own.requests === 0) accounts.delete(account);
      }
    },
    close: () => pool.close(),
  };
}

function turnsOfAccount(): Semaphore {
  return createSemaphore({ atOnce: 1, maxWaiting: MAX_REQUESTS_WAITING, maxWaitMs: MAX_WAIT_MS });
}

function* batchesOf({ inputs, dimensions }: EmbedQuestion): Generator<EmbedQuestion> {
  let batch: string[] = [];
  let letters = 0;
  for (const input of inputs) {
    batch.push(input);
    letters += input.length;
    if (letters < BATCH_LETTERS && batch.length * dimensions < BATCH_NUMBERS) continue;
    yield { inputs: batch, dimensions };
    batch = [];
    letters = 0;
  }
  if (batch.length > 0) yield { inputs: batch, dimensions };
}
