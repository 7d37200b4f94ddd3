/** Makes the answer of paid calls, whole or streamed. */
import { Readable } from 'node:stream';
import type { LedgerPrice } from '../../domain/ledger.ts';
import type { RpcRequest } from '../../domain/rpc/request.ts';
import type { RpcStream } from '../../providers/rpc/rpcUpstreams.ts';
import { type Answer, preparedAnswer, type StreamAnswer, stream } from '../http/answer.ts';
import { relayHeaders, textAroundResult } from './answerCalls.ts';
import type { PaidCalls } from './payForCalls.ts';

/** Stores the answer for the next request with the same key. */
export interface AnswerKeeper {
  /** Undefined: too large to be stored. */
  keep(body: Buffer | undefined): Promise<void>;
  /** The answer broke off: the next request gets it anew, for the same money. */
  forget(): Promise<void>;
}

/** Larger answers are not stored. */
const MAX_KEPT_BYTES = 1024 * 1024;
const SLICE_BYTES = 64 * 1024;

export async function toAnswer(
  paid: PaidCalls,
  { asked, credit, keeper }: { asked: RpcRequest; credit: LedgerPrice; keeper?: AnswerKeeper },
): Promise<Answer> {
  const headers = relayHeaders(paid.bill, credit);
  if (paid.kind === 'whole') {
    const { body, leave } = paid;
    try {
      await keeper?.keep(body.length <= MAX_KEPT_BYTES ? body : undefined);
    } catch (error) {
      leave?.();
      throw error;
    }
    return leave ? inSlices(body, { headers, leave }) : preparedAnswer(body, { headers });
  }
  const copy = keeper ? new AnswerCopy() : undefined;
  const pieces = piecesOf(paid.value, asked, copy);
  return jsonStream(Readable.from(pieces, { objectMode: false }), {
    headers,
    async onWhole() {
      paid.stop();
      await keeper?.keep(copy?.whole());
    },
    async onAborted() {
      paid.stop();
      await pieces.return?.();
      await keeper?.forget();
    },
  });
}

/**
 * Sends slices as fast as the client reads. A client that reads nothing is cut off (sendStream.ts), which frees the
 * memory.
 */
function inSlices(bytes: Buffer, { headers, leave }: { headers: Record<string, string>; leave: () => void }): Answer {
  function* slices(): Generator<Buffer> {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
  }
  const end = async () => leave();
  return jsonStream(Readable.from(slices(), { objectMode: false }), {
    headers: { ...headers, 'Content-Length': String(bytes.length) },
    ...{ onWhole: end, onAborted: end },
  });
}

function jsonStream(
  source: Readable,
  { headers, ...ends }: Pick<StreamAnswer, 'headers' | 'onWhole' | 'onAborted'>,
): Answer {
  return stream({ stream: source, contentType: 'application/json; charset=utf-8', ...ends }, { headers });
}

/** Written without a generator: an iteration that has not begun must still release its source. */
function piecesOf(
  value: RpcStream['value'],
  asked: RpcRequest,
  copy: AnswerCopy | undefined,
): AsyncIterableIterator<Buffer> {
  const [before, after] = textAroundResult(asked);
  const source = value[Symbol.asyncIterator]();
  let first: Buffer | undefined = Buffer.from(before);
  let isOver = false;
  return {
    async next() {
      if (isOver) return { done: true, value: undefined };
      const read = first ? { done: false, value: first } : await source.next();
      first = undefined;
      isOver ||= read.done === true;
      const piece = read.done ? Buffer.from(after) : (read.value as Buffer);
      copy?.add(piece);
      return { done: false, value: piece };
    },
    async return() {
      isOver = true;
      await source.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

class AnswerCopy {
  #pieces: Buffer[] | undefined = [];
  #sizeBytes = 0;

  add(piece: Buffer): void {
    this.#sizeBytes += piece.length;
    if (this.#sizeBytes > MAX_KEPT_BYTES) this.#pieces = undefined;
    this.#pieces?.push(piece);
  }

  whole(): Buffer | undefined {
    return this.#pieces && Buffer.concat(this.#pieces);
  }
}
