/** One node of a network: calls, latencies and health. */
import { JsonBytes } from '../../domain/json/jsonBytes.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import type { UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { AddressHealth, type AddressState } from '../shared/addressHealth.ts';
import { NodeAnswers } from './nodeAnswers.ts';
import { isStopped, NodeCall, type NodeCallOptions } from './nodeCall.ts';
import { type NodeClient, plainPieces } from './nodeClient.ts';
import { questionOf, readOutcomes } from './questions.ts';
import { isRefusal, readRefusal } from './refusal.ts';
import type { NodeOutcome, RpcOutcome, RpcStream } from './rpcUpstreams.ts';
import { MAX_STREAMED_BYTES, StreamedAnswer } from './streamedAnswer.ts';
import { failureOf, type NodeReply, type Verdict, verdictOf } from './verdict.ts';

/** One outcome per call, or the stream of a single call. */
export interface NodeAttempt {
  outcomes: RpcOutcome[];
  stream?: RpcStream | undefined;
}

export interface RunningAttempt {
  done: Promise<NodeAttempt>;
  /** Cancels the call: its reply is no longer needed. */
  stop(): void;
}

export interface NodeSurroundings {
  now: () => number;
  random: () => number;
  observe: (outcome: NodeOutcome, durationMs: number) => void;
}

const KEPT_TIMES = 128;
/** Fewer samples say nothing. */
const MIN_TIMES = 20;
/** New samples after which the percentile is computed again. */
const SORTED_EVERY = 16;
const MIN_HEDGE_MS = 20;

/** Recent latencies of one kind of calls. */
class Latencies {
  private readonly times: number[] = [];
  private next = 0;
  private sinceSorted = SORTED_EVERY;
  private late = 0;

  add(ms: number): void {
    this.times[this.next] = ms;
    this.next = (this.next + 1) % KEPT_TIMES;
    this.sinceSorted += 1;
  }

  /** Time after which a call is hedged (95th percentile); undefined with too few samples. */
  hedgeAfterMs(): number | undefined {
    const { times } = this;
    if (times.length < MIN_TIMES) return undefined;
    if (this.sinceSorted >= SORTED_EVERY) {
      const sorted = [...times].sort((left, right) => left - right);
      this.late = Math.max(MIN_HEDGE_MS, sorted[Math.floor(sorted.length * 0.95)] ?? 0);
      this.sinceSorted = 0;
    }
    return this.late;
  }
}

/** Smoothing of the error share: about the last twenty replies count. */
const ERROR_WEIGHT = 0.05;
/** Time limit of a stream, even for a slow reader. */
const MAX_STREAM_MS = 5 * 60_000;

export class RpcNode {
  readonly client: NodeClient;
  private readonly singles = new Latencies();
  private readonly batches = new Latencies();
  /** Height of its newest block; undefined until it was polled. */
  height: number | undefined;
  /** Identifies its chain; undefined until it was polled. */
  chain: string | undefined;
  running = 0;
  private errorShare = 0;
  /** Its last failure was not caused by a call, and no answer followed. */
  private inDoubt = false;
  private readonly health: AddressHealth;
  private readonly surroundings: NodeSurroundings;

  constructor(client: NodeClient, surroundings: NodeSurroundings) {
    this.client = client;
    this.surroundings = surroundings;
    this.health = new AddressHealth(surroundings.random);
  }

  state(): AddressState {
    return this.health.state(this.surroundings.now());
  }

  /** Whether the node is healthy, or due for a retry. */
  isReady(): boolean {
    const state = this.state();
    return state === 'closed' || state === 'half-open';
  }

  /** Weight in the selection: failing nodes get fewer calls, but never none. */
  pull(): number {
    return this.client.weight * Math.max(0.02, (1 - this.errorShare) ** 4);
  }

  latencies({ length }: RpcCalls): Latencies {
    return length === 1 ? this.singles : this.batches;
  }

  /** Never throws; a stopped call is `failed`. */
  ask(calls: RpcCalls, asking: NodeCallOptions): RunningAttempt {
    const call = new NodeCall(calls, asking);
    return { done: this.exchange(call), stop: () => call.stop() };
  }

  private async exchange(call: NodeCall): Promise<NodeAttempt> {
    const { calls, asking } = call;
    call.startedAt = this.surroundings.now();
    // A half-open node is probed by one call at a time.
    this.health.asked(call.startedAt);
    this.running += 1;
    let answered: NodeReply;
    try {
      const read = asking.streams ? await this.stream(call) : await this.post(call);
      if (read instanceof StreamedAnswer) {
        call.extend(MAX_STREAM_MS);
        const ended = (failed: boolean) => {
          call.stop();
          this.end(call, { outcomes: [], stopped: failed });
        };
        return { outcomes: [], stream: { kind: 'stream', value: read.result(ended) } };
      }
      answered = read;
    } catch (error) {
      const late = asking.streams === true && call.isLate();
      if (asking.streams) call.stop();
      const outcome = late ? TIMEOUT : failureOf(error);
      answered = { outcomes: new Array(calls.length).fill(outcome), stopped: !late && isStopped(error) };
    }
    this.end(call, answered);
    return answered;
  }

  private async post({ calls, firstId, asking, signal }: NodeCall): Promise<NodeReply> {
    const { maxBytes, once = false } = asking;
    const reply = await this.client.post(questionOf(calls, firstId), { signal, maxBytes, once });
    asking.onHead?.();
    const { status, headers, body } = reply;
    const asked = { calls, firstId, secrets: this.client.secrets };
    if (isRefusal(status)) {
      const refused = await readRefusal(asked, reply);
      body.release();
      return refused;
    }
    const pieces = plainPieces(body, headers['content-encoding'], maxBytes);
    const { whole, answers } = await readWhole(pieces, maxBytes);
    return { status, outcomes: readOutcomes(asked, whole, answers) };
  }

  private async stream(call: NodeCall): Promise<NodeReply | StreamedAnswer> {
    const { calls, firstId, asking, signal } = call;
    const reply = await this.client.stream(questionOf(calls, firstId), {
      signal,
      maxBytes: MAX_STREAMED_BYTES,
    });
    asking.onHead?.();
    const asked = { calls, firstId, secrets: this.client.secrets };
    if (isRefusal(reply.status)) {
      const refused = await readRefusal(asked, reply);
      call.stop();
      return refused;
    }
    const answer = new StreamedAnswer(reply, firstId);
    return (await answer.begins()) ? answer : { outcomes: readOutcomes(asked, answer.body(), answer.answers) };
  }

  /** Records the verdict of a reply about the node. */
  private end(call: NodeCall, answered: NodeReply): void {
    call.end();
    const { surroundings, health } = this;
    const { calls, asking, startedAt } = call;
    const verdict = verdictOf(calls, answered);
    const now = surroundings.now();
    this.running -= 1;
    surroundings.observe(verdict.outcome, now - startedAt);
    if (verdict.outcome === 'answered' && !asking.streams) this.latencies(calls).add(now - startedAt);
    if (verdict.outcome === 'stopped') health.abandoned();
    else if (verdict.fault !== undefined) this.fail(verdict.fault, verdict);
    else {
      this.errorShare *= 1 - ERROR_WEIGHT;
      this.inDoubt = false;
      health.succeeded();
    }
  }

  private fail(fault: UpstreamFailureReason, { provoked = false, retryAfterMs }: Verdict): void {
    // Only faults that no client can provoke count, so no client can divert others from a node.
    if (!PROVOKED.has(fault)) this.errorShare += (1 - this.errorShare) * ERROR_WEIGHT;
    const reason = provoked && !this.inDoubt ? 'garbage' : fault;
    if (!provoked && !PROVOKED.has(fault) && fault !== 'rate_limited') this.inDoubt = true;
    this.health.failed({ reason, retryAfterMs }, this.surroundings.now());
  }
}

/** Faults caused by a request, which say nothing about the node. */
const PROVOKED: ReadonlySet<UpstreamFailureReason> = new Set(['refused', 'garbage']);
const TIMEOUT: RpcOutcome = { kind: 'failed', reason: 'timeout', sent: true };

/** Larger replies are parsed as they arrive, so that other work gets its turn. */
const MAX_AT_ONCE = 256 * 1024;

/** `answers`: parsed, if the reply is large. Throws BodyTooLarge and JsonProblem. */
async function readWhole(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<{ whole: Buffer; answers: NodeAnswers | undefined }> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  let answers: NodeAnswers | undefined;
  for await (const piece of body) {
    sizeBytes += piece.length;
    if (sizeBytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`);
    pieces.push(piece);
    if (sizeBytes <= MAX_AT_ONCE) continue;
    for (const unread of answers === undefined ? pieces : [piece]) {
      answers ??= new NodeAnswers(0);
      answers.write(new JsonBytes(unread));
    }
  }
  answers?.finish();
  return { whole: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces), answers };
}
