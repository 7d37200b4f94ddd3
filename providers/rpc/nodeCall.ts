/** One call to one node, with its timeouts and cancellation. */
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { takeIds } from './questions.ts';

/** Time before a call may move to another node. */
export interface MoveDelay {
  ms: number;
  /** Whether the call can move now; if not, waiting is its best chance. */
  isOver: () => boolean;
}

export interface NodeCallOptions {
  /** The client's signal; after its abort no reply counts. */
  signal: AbortSignal;
  timeoutMs: number;
  /** Undefined: the whole `timeoutMs`. */
  patience?: MoveDelay | undefined;
  maxBytes: number;
  /** Must not be executed twice. */
  once?: boolean;
  /** Streams a large result; single calls only. */
  streams?: boolean;
  /** Called when the head of the reply arrives. */
  onHead?: (() => void) | undefined;
}

const STOPPED = new Error('of no more interest');
const LATE = new Error('no answer in time');

/** One running call. Ends on timeout, when its patience is over, when its client leaves, or when it is stopped. */
export class NodeCall {
  readonly calls: RpcCalls;
  readonly asking: NodeCallOptions;
  readonly firstId: number;
  startedAt = 0;
  private readonly control = new AbortController();
  private leftMs: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(calls: RpcCalls, asking: NodeCallOptions) {
    this.calls = calls;
    this.asking = asking;
    this.firstId = takeIds(calls.length);
    this.leftMs = asking.timeoutMs;
    this.wait();
    asking.signal.addEventListener('abort', this, { once: true });
    if (asking.signal.aborted) this.stop();
  }

  get signal(): AbortSignal {
    return this.control.signal;
  }

  isLate(): boolean {
    return this.signal.reason === LATE;
  }

  /** Called when the client's signal aborts. */
  handleEvent(): void {
    this.stop();
  }

  stop(): void {
    this.control.abort(STOPPED);
  }

  extend(ms: number): void {
    clearTimeout(this.timer);
    this.leftMs = ms;
    this.wait();
  }

  end(): void {
    clearTimeout(this.timer);
    this.asking.signal.removeEventListener('abort', this);
  }

  wait(): void {
    const turnMs = Math.min(this.leftMs, this.asking.patience?.ms ?? this.leftMs);
    this.timer = setTimeout(endTurn, turnMs, this, turnMs);
  }

  endTurn(turnMs: number): void {
    this.leftMs -= turnMs;
    if (this.leftMs <= 0 || this.asking.patience?.isOver()) this.control.abort(LATE);
    else this.wait();
  }
}

function endTurn(call: NodeCall, turnMs: number): void {
  call.endTurn(turnMs);
}

export function isStopped(error: unknown): boolean {
  return error instanceof ServiceHttpError && error.failure === 'stopped' && error.cause !== LATE;
}
