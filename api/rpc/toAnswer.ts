/** Sends what was sold, whole or as it comes. */
import { Readable } from 'node:stream';
import type { LedgerPrice } from '../../domain/ledger.ts';
import type { RpcRequest } from '../../domain/rpc/request.ts';
import type { RpcStream } from '../../providers/rpc/rpcUpstreams.ts';
import { type Answer, prepared, stream } from '../http/answer.ts';
import { partsAround, relayHeaders } from './rpcAnswer.ts';
import type { Sold } from './sell.ts';

/** What is done with the answer for the next request with the same key. */
export interface Keeping {
  /** Undefined: it is too large to be kept. */
  keep(body: Buffer | undefined): Promise<void>;
  /** It broke off: whoever asks again gets it anew, for the same money. */
  forget(): Promise<void>;
}

/** Larger answers are not kept. */
const MOST_KEPT_BYTES = 1024 * 1024;

export async function toAnswer(
  sold: Exclude<Sold, { kind: 'failed' }>,
  { asked, credit, keeping }: { asked: RpcRequest; credit: LedgerPrice; keeping?: Keeping },
): Promise<Answer> {
  const headers = relayHeaders(sold.bill, credit);
  if (sold.kind === 'whole') {
    const { body, room } = sold;
    try {
      await keeping?.keep(body.length <= MOST_KEPT_BYTES ? body : undefined);
      return room.leave ? inSlices(body, { headers, leave: room.leave }) : prepared(body, { headers });
    } catch (error) {
      room.leave?.();
      throw error;
    }
  }
  const copy = keeping ? createCopy() : undefined;
  const pieces = piecesOf(sold.value, asked, copy);
  return stream(
    {
      stream: Readable.from(pieces, { objectMode: false }),
      contentType: 'application/json; charset=utf-8',
      async onWhole() {
        sold.stop();
        await keeping?.keep(copy?.whole());
      },
      async onAborted() {
        sold.stop();
        await pieces.return?.();
        await keeping?.forget();
      },
    },
    { headers },
  );
}

const SLICE_BYTES = 64 * 1024;

/** As fast as its client reads; one that reads nothing is cut off (sendStream.ts), and the room is free again. */
function inSlices(
  bytes: Buffer,
  { headers, leave }: { headers: Record<string, string>; leave: () => void },
): Answer {
  function* slices(): Generator<Buffer> {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
  }
  const end = async () => leave();
  return stream(
    {
      ...{
        stream: Readable.from(slices(), { objectMode: false }),
        contentType: 'application/json; charset=utf-8',
      },
      ...{ onWhole: end, onAborted: end },
    },
    { headers: { ...headers, 'Content-Length': String(bytes.length) } },
  );
}

/** By hand: an iteration that has not begun must still let go of its source. */
function piecesOf(
  value: RpcStream['value'],
  asked: RpcRequest,
  copy: ReturnType<typeof createCopy> | undefined,
): AsyncIterableIterator<Buffer> {
  const [before, after] = partsAround(asked);
  const source = value[Symbol.asyncIterator]();
  let state: 'before' | 'inside' | 'after' | 'done' = 'before';
  async function next(): Promise<IteratorResult<Buffer, undefined>> {
    if (state === 'done') return { done: true, value: undefined };
    if (state === 'before') {
      state = 'inside';
      return piece(Buffer.from(before));
    }
    const { done, value: bytes } = await source.next();
    if (!done) return piece(bytes);
    state = 'done';
    return piece(Buffer.from(after));
  }
  function piece(bytes: Buffer): IteratorResult<Buffer, undefined> {
    copy?.add(bytes);
    return { done: false, value: bytes };
  }
  return {
    next,
    async return() {
      state = 'done';
      await source.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function createCopy() {
  let kept: Buffer[] | undefined = [];
  let size = 0;
  return {
    add(bytes: Buffer): void {
      size += bytes.length;
      if (size > MOST_KEPT_BYTES) kept = undefined;
      kept?.push(bytes);
    },
    whole: (): Buffer | undefined => kept && Buffer.concat(kept),
  };
}
