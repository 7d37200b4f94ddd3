/**
 * Ends long turns of the event loop caused by many small chunks of bodies. The parser calls us for each chunk: the 64
 * kB of one read may be ten thousand chunks of one byte and take 17 ms, and a turn reads every connection with data,
 * each up to 32 times. Connections whose turn is over are read in the next turn. Bench `stalls`.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

const MAX_TURN_MS = 30;

/** One for each process: a turn is shared by all its servers. */
export class TurnGuard {
  /** Counted from the first chunk of a turn. Tests shorten it. */
  maxTurnMs = MAX_TURN_MS;
  readonly #open = new Set<Socket>();
  #startedAt: number | undefined;
  #nextTurn: Promise<void> | undefined;

  /** Only connections of guarded servers wait for each other. */
  guard(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.prependListener('request', ({ headers }: IncomingMessage) => {
      if (headers['transfer-encoding'] !== undefined) void this.noteChunk();
    });
  }

  /** Resolves in the next turn when this one took too long; undefined: it goes on. */
  noteChunk(): Promise<void> | undefined {
    if (this.#nextTurn) return this.#nextTurn;
    const now = performance.now();
    if (this.#startedAt === undefined) {
      this.#startedAt = now;
      setImmediate(() => {
        this.#startedAt = undefined;
      });
    } else if (now - this.#startedAt >= this.maxTurnMs) {
      this.#nextTurn = this.#postponeReading();
    }
    return this.#nextTurn;
  }

  /** The same for a body in flowing mode: it is paused until the next turn. */
  noteFlowingChunk(request: IncomingMessage): void {
    const nextTurn = this.noteChunk();
    if (!nextTurn || request.isPaused()) return;
    request.pause();
    void nextTurn.then(() => request.resume());
  }

  async #postponeReading(): Promise<void> {
    // Connections that wait for their reader stay paused.
    const reading = [...this.#open].filter((socket) => !socket.isPaused());
    for (const socket of reading) socket.pause();
    await new Promise((resolve) => setImmediate(resolve));
    this.#nextTurn = undefined;
    for (const socket of reading) socket.resume();
  }
}
