/** A reply that may exceed the memory limit: its result is streamed. */
import { JsonBytes } from '../../domain/json/jsonBytes.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import type { ServiceReply } from '../../infra/http/serviceHttp.ts';
import { type AnswerMember, ERROR, ID, NodeAnswers, RESULT } from './nodeAnswers.ts';
import { plainPieces } from './nodeClient.ts';
import { MAX_WHOLE_BYTES } from './rpcUpstreams.ts';

/** Smaller replies are read whole, so that the outcome is known before billing. */
const STREAMED_FROM_BYTES = 1024 * 1024;
export const MAX_STREAMED_BYTES = 256 * 1024 * 1024;
/** Farebox's ids have at most ten digits. */
const MAX_ID = 32;

export class StreamedAnswer {
  readonly answers = new NodeAnswers(1);
  private readonly id: string;
  private readonly source: AsyncIterator<Buffer>;
  /** Pieces read and not passed on yet. */
  private pieces: Buffer[] = [];
  private sizeBytes = 0;

  constructor({ body, headers }: ServiceReply, id: number) {
    this.id = String(id);
    this.source = plainPieces(body, headers['content-encoding'], MAX_STREAMED_BYTES)[Symbol.asyncIterator]();
  }

  /** False: the whole reply was read. True: it is large, its result has started, and no other id has been seen. */
  async begins(): Promise<boolean> {
    const { answers } = this;
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) {
      this.pieces.push(piece);
      const hasResult = !answers.isBatch && answers.has(0, RESULT) && !answers.has(0, ERROR);
      if (this.sizeBytes >= STREAMED_FROM_BYTES && hasResult && !this.isOfAnother()) return true;
      if (this.sizeBytes >= MAX_WHOLE_BYTES) throw new BodyTooLarge('and no result');
    }
    return false;
  }

  body(): Buffer {
    return Buffer.concat(this.pieces);
  }

  /**
   * Bytes of the result, once it has started. Throws if the rest of the reply contradicts it. Hand-written around the
   * generator: leaving an unstarted generator runs no code, so the node would continue to send.
   */
  result(ended: (failed: boolean) => void): AsyncIterableIterator<Buffer> {
    const pieces = this.passOn(ended);
    let begun = false;
    return {
      next() {
        begun = true;
        return pieces.next();
      },
      return: async () => {
        if (!begun) {
          begun = true;
          await this.leave();
          ended(true);
        }
        return await pieces.return(undefined);
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  private async *passOn(ended: (failed: boolean) => void): AsyncGenerator<Buffer> {
    const { answers } = this;
    let failed = true;
    try {
      const texts = new TextDecoder('utf-8', { fatal: true });
      let id = '';
      let offset = 0;
      let piece: Buffer | undefined = this.body();
      this.pieces = [];
      for (; piece !== undefined; piece = await this.next()) {
        if (this.sizeBytes > MAX_STREAMED_BYTES) throw new Error('the answer is too large');
        if (answers.isTwice(0) || answers.has(0, ERROR)) throw new Error('more than a result');
        texts.decode(piece, { stream: true });
        const result = this.partOf(piece, offset, RESULT);
        if (result.length > 0) yield result;
        // The id may be before or after the result, and split between pieces.
        if (id.length < MAX_ID) id += this.partOf(piece, offset, ID).toString('latin1', 0, MAX_ID);
        offset += piece.length;
      }
      if (id !== this.id) throw new Error('not the answer to the call');
      failed = false;
    } finally {
      if (failed) await this.leave();
      ended(failed);
    }
  }

  /** Undefined: the reply ended as valid JSON. */
  private async next(): Promise<Buffer | undefined> {
    const { value, done } = await this.source.next();
    if (done) {
      this.answers.finish();
      return undefined;
    }
    const piece: Buffer = value;
    this.sizeBytes += piece.length;
    this.answers.write(new JsonBytes(piece));
    return piece;
  }

  private isOfAnother(): boolean {
    const { answers } = this;
    const start = answers.start(0, ID);
    const end = answers.endOf(0, ID);
    return end > 0 && this.body().toString('latin1', start, Math.min(end, start + MAX_ID)) !== this.id;
  }

  /** Bytes of a member in a piece that begins at `offset`. */
  private partOf(piece: Buffer, offset: number, member: AnswerMember): Buffer {
    const { answers } = this;
    if (!answers.has(0, member)) return piece.subarray(0, 0);
    const end = answers.endOf(0, member);
    const from = Math.max(0, answers.start(0, member) - offset);
    return piece.subarray(from, end === 0 ? piece.length : Math.max(from, end - offset));
  }

  private async leave(): Promise<void> {
    await Promise.resolve(this.source.return?.(undefined)).catch(() => undefined);
  }
}
