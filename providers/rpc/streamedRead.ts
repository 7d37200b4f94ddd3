/** A read that may be answered with more than is kept in memory: its result is passed on as it comes. */
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import type { StreamedReply } from '../../infra/http/streamedHttp.ts';
import { retryAfterMs } from '../shared/retryAfter.ts';
import { AnswerScanner, NotJson } from './answerScanner.ts';
import { STREAMS } from './besideSilence.ts';
import { plainPieces } from './nodeDoor.ts';
import { better, mayBeAskedElsewhere } from './outcomes.ts';
import { questionOf, readOutcomes, takeIds } from './questions.ts';
import { readRefusal } from './refusal.ts';
import { MOST_BYTES, type RpcFleet, type Work } from './rpcFleet.ts';
import { type Answered, failureOf, isStopped, type RpcNode, refusalOf, verdictOf } from './rpcNode.ts';
import type { RpcOutcome, RpcStream } from './rpcUpstreams.ts';

/** What is smaller is read whole, so that all of it is known before anything is billed. */
const STREAMED_FROM_BYTES = 1024 * 1024;
const MOST_STREAMED_BYTES = 256 * 1024 * 1024;
/** However slowly its reader goes. */
const LONGEST_STREAM_MS = 5 * 60_000;
const MOST_ATTEMPTS = 3;
/** Ours are numbers of ten digits at most. */
const LONGEST_ID = 32;

export async function readStreamed(fleet: RpcFleet, work: Work): Promise<RpcOutcome | RpcStream> {
  fleet.heights.used();
  const tried = new Set<RpcNode>();
  let outcome = fleet.nobody();
  while (tried.size < MOST_ATTEMPTS) {
    const leftMs = work.until - fleet.now();
    const node = leftMs > 0 ? fleet.pick(tried, work.preferred) : undefined;
    if (node === undefined) break;
    tried.add(node);
    if (tried.size > 1) fleet.failedOver();
    const ask = (each: RpcNode, hearing: Streaming) => askStreamed(each, work.calls, hearing);
    const answer = await fleet.askHeavy(node, work, { tried, ask, ...STREAMS });
    work.signal.throwIfAborted();
    if (answer.kind === 'stream') return answer;
    outcome = better(outcome.kind === 'failed' ? undefined : outcome, answer);
    if (!mayBeAskedElsewhere(outcome)) break;
  }
  return outcome;
}

interface Streaming {
  signal: AbortSignal;
  timeoutMs: number;
  onHead: () => void;
}

async function askStreamed(
  node: RpcNode,
  call: RpcCalls,
  streaming: Streaming,
): Promise<RpcOutcome | RpcStream> {
  const startedAt = node.begin();
  const over = (answered: Answered) => node.end(startedAt, verdictOf(call, answered));
  const control = new AbortController();
  const stop = () => control.abort(streaming.signal.reason);
  streaming.signal.addEventListener('abort', stop, { once: true });
  if (streaming.signal.aborted) stop();
  let clock = setTimeout(() => control.abort(LATE), streaming.timeoutMs);
  const free = () => {
    clearTimeout(clock);
    streaming.signal.removeEventListener('abort', stop);
  };
  const firstId = takeIds(1);
  const asked = { calls: call, firstId, secrets: node.door.secrets };
  try {
    const reply = await node.door.stream(questionOf(call, firstId), control.signal);
    streaming.onHead();
    const refusal = refusalOf(reply.status);
    const [refused] = refusal === undefined ? [] : await readRefusal(asked, reply, refusal);
    if (refused !== undefined) {
      control.abort(STOPPED);
      free();
      const pauseMs = retryAfterMs(reply.headers['retry-after'], Date.now());
      over({
        status: reply.status,
        outcomes: [refused],
        ...(pauseMs !== undefined && { retryAfterMs: pauseMs }),
      });
      return refused;
    }
    const reading = new Reading(reply);
    if (await reading.begins(firstId)) {
      const [outcome = failureOf(undefined)] = readOutcomes(asked, reading.body(), reading.scanner);
      free();
      over({ outcomes: [outcome] });
      return outcome;
    }
    clearTimeout(clock);
    clock = setTimeout(() => control.abort(LATE), LONGEST_STREAM_MS);
    const ended = (failed: boolean) => {
      control.abort(STOPPED);
      free();
      over({ outcomes: [], stopped: failed });
    };
    return { kind: 'stream', value: resultOf(reading, firstId, ended) };
  } catch (error) {
    control.abort(STOPPED);
    free();
    const late = control.signal.reason === LATE;
    const outcome: RpcOutcome = late ? { kind: 'failed', reason: 'timeout', sent: true } : failureOf(error);
    over({ outcomes: [outcome], stopped: !late && isStopped(error) });
    return outcome;
  }
}

const LATE = new Error('no answer in time');
const STOPPED = new Error('of no more interest');

/** The answer so far: its pieces, and what they say. */
class Reading {
  readonly scanner = new AnswerScanner();
  /** Read, and not passed on yet. */
  pieces: Buffer[] = [];
  sizeBytes = 0;
  private readonly source: AsyncIterator<Buffer>;

  constructor({ body, headers }: StreamedReply) {
    const encoding = headers['content-encoding'];
    this.source = plainPieces(body, encoding, MOST_STREAMED_BYTES)[Symbol.asyncIterator]();
  }

  /** Undefined: it has ended, as JSON. */
  async next(): Promise<Buffer | undefined> {
    const { value, done } = await this.source.next();
    if (done) {
      this.scanner.end();
      return undefined;
    }
    const piece = value as Buffer;
    this.sizeBytes += piece.length;
    this.scanner.write(piece);
    return piece;
  }

  /** True: all of it is there. False: it is large, its result has begun, and nothing yet says that it is not of this call. */
  async begins(id: number): Promise<boolean> {
    for (;;) {
      const piece = await this.next();
      if (piece === undefined) return true;
      this.pieces.push(piece);
      const [answer] = this.scanner.answers;
      const streams = !this.scanner.isBatch && answer?.result !== undefined && answer.error === undefined;
      if (this.sizeBytes >= STREAMED_FROM_BYTES && streams && !this.isOfAnother(id, answer.id)) return false;
      if (this.sizeBytes >= MOST_BYTES) throw new BodyTooLarge('and no result');
    }
  }

  private isOfAnother(id: number, span: { start: number; end: number } | undefined): boolean {
    if (span === undefined || span.end === -1) return false;
    return (
      this.body()
        .toString('latin1', span.start, Math.min(span.end, span.start + LONGEST_ID))
        .trim() !== String(id)
    );
  }

  body(): Buffer {
    return Buffer.concat(this.pieces);
  }

  async leave(): Promise<void> {
    await this.source.return?.(undefined);
  }
}

/**
 * The bytes of the member `result`. Throws when the rest of the answer does not bear it out. By hand around the generator:
 * one that has not begun does nothing when it is left, and its node would go on sending.
 */
function resultOf(
  reading: Reading,
  id: number,
  ended: (failed: boolean) => void,
): AsyncIterableIterator<Buffer> {
  const pieces = piecesOf(reading, id, ended);
  let begun = false;
  return {
    next() {
      begun = true;
      return pieces.next();
    },
    async return() {
      if (!begun) {
        begun = true;
        await reading.leave().catch(() => undefined);
        ended(true);
      }
      return await pieces.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* piecesOf(
  reading: Reading,
  id: number,
  ended: (failed: boolean) => void,
): AsyncGenerator<Buffer> {
  let failed = true;
  try {
    const [answer] = reading.scanner.answers;
    const result = answer?.result;
    if (answer === undefined || result === undefined) throw new NotJson('no result');
    const kept = reading.body();
    reading.pieces = [];
    const texts = new TextDecoder('utf-8', { fatal: true });
    const tail: Buffer[] = [];
    let offset = 0;
    for (let piece: Buffer | undefined = kept; piece !== undefined; piece = await reading.next()) {
      if (reading.sizeBytes > MOST_STREAMED_BYTES) throw new NotJson('too large');
      texts.decode(piece, { stream: true });
      const from = Math.max(0, result.start - offset);
      const to = result.end === -1 ? piece.length : Math.max(0, Math.min(piece.length, result.end - offset));
      if (from < to) yield piece.subarray(from, to);
      if (answer.id !== undefined) keepId(tail, { piece, offset, span: answer.id });
      offset += piece.length;
    }
    const own = Buffer.concat(tail).toString('latin1').trim() === String(id);
    if (!own || answer.twice || answer.error !== undefined) throw new NotJson('not the answer to the call');
    failed = false;
  } finally {
    if (failed) await reading.leave().catch(() => undefined);
    ended(failed);
  }
}

interface Part {
  piece: Buffer;
  offset: number;
  span: { start: number; end: number };
}

/** The id may stand before the result or after it, and be cut anywhere. */
function keepId(tail: Buffer[], { piece, offset, span }: Part): void {
  const from = Math.max(0, span.start - offset);
  const to = span.end === -1 ? piece.length : Math.max(0, Math.min(piece.length, span.end - offset));
  if (from < to && tail.length < 8) tail.push(piece.subarray(from, Math.min(to, from + 64)));
}
