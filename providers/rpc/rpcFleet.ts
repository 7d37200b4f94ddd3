/** The nodes of one network: selection, failover and hedging of calls. */
import { setMaxListeners } from 'node:events';
import type { RpcFamily } from '../../domain/rpc/networks.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { HedgeBudget, isRetryableElsewhere, raceNodes } from './hedge.ts';
import { type Heights, type HeightsOptions, watchHeights } from './heights.ts';
import type { MoveDelay } from './nodeCall.ts';
import type { NodeAttempt, RpcNode } from './rpcNode.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

interface FleetOptions extends HeightsOptions {
  random: () => number;
}

export interface FleetCall {
  calls: RpcCalls;
  /** The client's signal. */
  signal: AbortSignal;
  /** Deadline by the clock of the options. */
  until: number;
  maxBytes: number;
  heavy: boolean;
  /** Streams a large result; single calls only. */
  streams?: boolean;
  preferred?: RpcNode | undefined;
}

/** Progress of a read. */
interface Progress {
  tried: Set<RpcNode>;
  attempts: number;
}

const MAX_ATTEMPTS = 3;
/** Longest wait of a light call if another attempt can follow. */
const MAX_LIGHT_MS = 10_000;
const MIN_LIGHT_MS = 1_000;
/** Size of the parts into which a late batch is split. */
const PART = 10;
/** A working node sends the head of its reply sooner, except for the heaviest reads. */
const SILENT_MS = 10_000;
/** Concurrent calls that probe a repeatedly failed node if there is no other. */
const MAX_ON_OPEN = 4;

export class RpcFleet {
  readonly network: string;
  readonly family: RpcFamily;
  readonly nodes: readonly RpcNode[];
  readonly heights: Heights;
  private readonly options: FleetOptions;
  private readonly budget = new HedgeBudget(1);
  /** Separate: light calls would exhaust it, because by definition one in twenty is late. */
  private readonly heavyBudget = HedgeBudget.full();

  constructor(options: FleetOptions) {
    this.options = options;
    this.network = options.network;
    this.family = options.family;
    this.nodes = options.nodes;
    this.heights = watchHeights(options);
  }

  now(): number {
    return this.options.now();
  }

  /** Picks a healthy, current node by weight; else a lagging one; else one that failed recently. */
  pick(tried: ReadonlySet<RpcNode>, preferred?: RpcNode): RpcNode | undefined {
    const { unfit } = this.heights;
    const free = this.nodes.filter((node) => !tried.has(node) && unfit(node) !== 'foreign');
    const ready = free.filter((node) => node.isReady());
    const fit = ready.filter((node) => unfit(node) === undefined);
    if (preferred !== undefined && fit.includes(preferred)) return preferred;
    if (fit.length > 0) return this.pickByWeight(fit);
    if (ready.length > 0) return this.pickByWeight(ready);
    return this.pickByWeight(free.filter((node) => node.state() === 'open' && node.running < MAX_ON_OPEN));
  }

  private pickByWeight(nodes: readonly RpcNode[]): RpcNode | undefined {
    if (nodes.length === 1) return nodes[0];
    let left = this.options.random() * nodes.reduce((sum, node) => sum + node.pull(), 0);
    for (const node of nodes) {
      left -= node.pull();
      if (left < 0) return node;
    }
    return nodes.at(-1);
  }

  private failedOver(): void {
    this.options.observe({ kind: 'failover', network: this.network });
  }

  /** Throws only the signal's reason. */
  async read(work: FleetCall): Promise<NodeAttempt> {
    this.heights.used();
    const progress: Progress = { tried: new Set(), attempts: 0 };
    const first = await this.askOnce(work, progress, undefined);
    if (first === undefined) return { outcomes: new Array(work.calls.length).fill(this.noNode()) };
    const { outcomes } = first;
    const isOpen = (index: number) => isRetryableElsewhere(outcomes[index] as RpcOutcome);
    if (first.stream || !outcomes.some(isRetryableElsewhere)) return first;
    let pending = outcomes.map((_, index) => index).filter(isOpen);
    while (pending.length > 0) {
      if (pending.length > 1 && pending.every((index) => isLate(outcomes[index]))) {
        await this.inParts(work, pending, outcomes);
        break;
      }
      // For streams, hedged nodes count as well.
      if ((work.streams ? progress.tried.size : progress.attempts) >= MAX_ATTEMPTS) break;
      const calls = pending.length === outcomes.length ? work.calls : work.calls.only(pending);
      const answered = await this.askOnce({ ...work, calls }, progress, outcomes[pending[0] as number]);
      if (answered === undefined) break;
      if (answered.stream) return answered;
      for (const [at, index] of pending.entries()) {
        outcomes[index] = better(outcomes[index], answered.outcomes[at]);
      }
      pending = pending.filter(isOpen);
    }
    return { outcomes };
  }

  /** Undefined: no other node or no time is left. `last`: outcome of the attempt before. */
  private async askOnce(
    work: FleetCall,
    progress: Progress,
    last: RpcOutcome | undefined,
  ): Promise<NodeAttempt | undefined> {
    const { tried } = progress;
    const leftMs = work.until - this.now();
    const node = leftMs > 0 ? this.next(tried, work, last) : undefined;
    if (node === undefined) return undefined;
    tried.add(node);
    progress.attempts += 1;
    if (last !== undefined) this.failedOver();
    const attempt = await this.attempt(node, work, progress);
    work.signal.throwIfAborted();
    return attempt;
  }

  /** Sends a write to one node, and to another only if the first has certainly not accepted it. */
  async write(work: FleetCall): Promise<RpcOutcome> {
    this.heights.used();
    const tried = new Set<RpcNode>();
    let outcome = this.noNode();
    while (tried.size < MAX_ATTEMPTS) {
      const leftMs = work.until - this.now();
      const node = leftMs > 0 ? this.pick(tried, work.preferred) : undefined;
      if (node === undefined) break;
      tried.add(node);
      if (tried.size > 1) this.failedOver();
      const asking = { signal: work.signal, timeoutMs: leftMs, maxBytes: work.maxBytes, once: true };
      const answered = await node.ask(work.calls, asking).done;
      work.signal.throwIfAborted();
      outcome = answered.outcomes[0] ?? outcome;
      if (outcome.kind !== 'failed' || outcome.sent) break;
    }
    return outcome;
  }

  /** Outcome of a call that was sent to no node. */
  noNode(): RpcOutcome {
    const limited = this.nodes.length > 0 && this.nodes.every((node) => node.state() === 'limited');
    return { kind: 'failed', reason: limited ? 'capacity' : 'broken', sent: false };
  }

  async close(): Promise<void> {
    this.heights.close();
    await Promise.all(this.nodes.map((node) => node.client.close()));
  }

  /** A single node is retried after a broken connection, which may have been closing as the request arrived. */
  private next(tried: Set<RpcNode>, work: FleetCall, last: RpcOutcome | undefined): RpcNode | undefined {
    const untried = this.pick(tried, work.preferred);
    if (untried !== undefined || tried.size === 0 || work.streams) return untried;
    if (last?.kind !== 'failed' || last.reason !== 'broken') return undefined;
    const [first] = tried;
    return first?.isReady() ? first : undefined;
  }

  /** Leaves time for another attempt if one can follow; the last gets all the time left. */
  private patience(node: RpcNode, { calls, until }: FleetCall, progress: Progress): MoveDelay {
    const usual = node.latencies(calls).hedgeAfterMs();
    const wanted = usual === undefined ? MAX_LIGHT_MS : Math.max(MIN_LIGHT_MS, usual * 10);
    return {
      ms: Math.min(wanted, MAX_LIGHT_MS, (until - this.now()) / 2),
      // A batch can continue in parts, also at the same node.
      isOver: () =>
        calls.length > 1 || (progress.attempts < MAX_ATTEMPTS && this.readyBeside(progress.tried) !== undefined),
    };
  }

  private readyBeside(tried: ReadonlySet<RpcNode>): RpcNode | undefined {
    const other = this.pick(tried);
    return other?.isReady() ? other : undefined;
  }

  /** Hedges if a light call takes longer than usual, or if the node of a heavy one sends no head. */
  private attempt(node: RpcNode, work: FleetCall, progress: Progress): Promise<NodeAttempt> {
    const { calls, signal, maxBytes, until, streams = false } = work;
    const isHeavy = work.heavy || streams;
    const timeoutMs = until - this.now();
    // The duration of a heavy read is unpredictable.
    const patience = isHeavy ? undefined : this.patience(node, work, progress);
    let isSilent = true;
    const onHead = () => {
      isSilent = false;
    };
    const asking = { signal, timeoutMs, maxBytes, streams, patience, onHead };
    const first = node.ask(calls, asking);
    if (this.nodes.length === 1) return first.done;
    const budget = isHeavy ? this.heavyBudget : this.budget;
    budget.called();
    // With little time left, hedge early enough for the other node.
    const afterMs = isHeavy ? Math.min(SILENT_MS, timeoutMs / 3) : node.latencies(calls).hedgeAfterMs();
    if (afterMs === undefined || afterMs >= timeoutMs) return first.done;
    return raceNodes(first, afterMs, () => {
      const isWanted = (!isHeavy || isSilent) && budget.take();
      const other = isWanted ? this.hedge(progress.tried) : undefined;
      return other?.ask(calls, { ...asking, timeoutMs: timeoutMs - afterMs });
    });
  }

  private hedge(tried: Set<RpcNode>): RpcNode | undefined {
    const other = this.readyBeside(tried);
    if (other === undefined) return undefined;
    tried.add(other);
    this.options.observe({ kind: 'hedge', network: this.network });
    return other;
  }

  private async inParts(work: FleetCall, pending: readonly number[], outcomes: RpcOutcome[]): Promise<void> {
    // Each part adds a listener.
    setMaxListeners(0, work.signal);
    const size = pending.length > PART ? PART : 1;
    const parts: (readonly number[])[] = [];
    for (let at = 0; at < pending.length; at += size) parts.push(pending.slice(at, at + size));
    await Promise.all(
      parts.map(async (part) => {
        const { outcomes: answered } = await this.read({ ...work, calls: work.calls.only(part) });
        for (const [at, index] of part.entries()) outcomes[index] = better(outcomes[index], answered[at]);
      }),
    );
  }
}

function isLate(outcome: RpcOutcome | undefined): boolean {
  return outcome?.kind === 'failed' && outcome.reason === 'timeout';
}

/** Prefers any answer of a node to a failure. */
function better(before: RpcOutcome | undefined, after: RpcOutcome | undefined): RpcOutcome {
  if (after === undefined) return before ?? { kind: 'failed', reason: 'broken', sent: false };
  return after.kind === 'failed' && before !== undefined && before.kind !== 'failed' ? before : after;
}
