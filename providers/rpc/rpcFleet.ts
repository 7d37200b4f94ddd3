/** The nodes of one network, and how a call finds an answer among them. */
import { setMaxListeners } from 'node:events';
import type { RpcFamily } from '../../domain/rpc/networks.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { askBesideSilence, type HeavyCall } from './besideSilence.ts';
import { askHedged, HedgeBudget, isOpen, MOST_SAVED } from './hedge.ts';
import { type Heights, watchHeights } from './heights.ts';
import { better, isLate, mayBeAskedElsewhere } from './outcomes.ts';
import { isReady, pickNode } from './pickNode.ts';
import type { Attempt, Patience, RpcNode } from './rpcNode.ts';
import type { RpcEvent } from './rpcTools.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

export interface FleetOptions {
  network: string;
  family: RpcFamily;
  nodes: readonly RpcNode[];
  now: () => number;
  random: () => number;
  observe: (event: RpcEvent) => void;
  pollMs: number;
}

export interface Work {
  calls: RpcCalls;
  /** The client's. */
  signal: AbortSignal;
  /** By the clock of the options. */
  until: number;
  maxBytes: number;
  heavy: boolean;
  preferred?: RpcNode | undefined;
}

/** How far a read has come. */
interface Progress {
  tried: Set<RpcNode>;
  attempts: number;
}

export interface HeavyAsking<T> extends Pick<HeavyCall<T>, 'ask' | 'isBad' | 'drop'> {
  tried: Set<RpcNode>;
}

const MOST_ATTEMPTS = 3;
/** Of a light call, where another attempt can follow. */
const LONGEST_LIGHT_MS = 10_000;
const SHORTEST_LIGHT_MS = 1_000;
/** Calls that a slow one among them held up go on in parts of so many. */
const PART = 10;
export const MOST_BYTES = 25 * 1024 * 1024;

export class RpcFleet {
  readonly network: string;
  readonly family: RpcFamily;
  readonly nodes: readonly RpcNode[];
  readonly heights: Heights;
  private readonly options: FleetOptions;
  private readonly budget = new HedgeBudget();
  /** Apart: of light calls one in twenty is late by what late means, and they would leave nothing. */
  private readonly heavyBudget = new HedgeBudget(MOST_SAVED);

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

  pick(tried: ReadonlySet<RpcNode>, preferred?: RpcNode): RpcNode | undefined {
    const { random } = this.options;
    return pickNode(this.nodes, { tried, random, preferred, unfit: this.heights.unfit });
  }

  failedOver(): void {
    this.options.observe({ kind: 'failover', network: this.network });
  }

  /** Reads: one outcome per call. Throws only the signal's reason. */
  async read(work: Work): Promise<RpcOutcome[]> {
    this.heights.used();
    const progress: Progress = { tried: new Set(), attempts: 0 };
    const outcomes = await this.askOnce(work, progress, undefined);
    if (outcomes === undefined) return new Array(work.calls.length).fill(this.nobody());
    const isOpen = (index: number) => mayBeAskedElsewhere(outcomes[index] as RpcOutcome);
    if (!outcomes.some(mayBeAskedElsewhere)) return outcomes;
    let pending = outcomes.map((_, index) => index).filter(isOpen);
    while (pending.length > 0) {
      if (pending.length > 1 && pending.every((index) => isLate(outcomes[index]))) {
        await this.inParts(work, pending, outcomes);
        break;
      }
      if (progress.attempts === MOST_ATTEMPTS) break;
      const calls = pending.length === outcomes.length ? work.calls : work.calls.only(pending);
      const answered = await this.askOnce({ ...work, calls }, progress, outcomes[pending[0] as number]);
      if (answered === undefined) break;
      for (const [at, index] of pending.entries()) {
        outcomes[index] = better(outcomes[index], answered[at]);
      }
      pending = pending.filter(isOpen);
    }
    return outcomes;
  }

  /** Undefined: no other node is there, or no time. `last`: how the call ended before. */
  private async askOnce(
    work: Work,
    progress: Progress,
    last: RpcOutcome | undefined,
  ): Promise<RpcOutcome[] | undefined> {
    const { tried } = progress;
    const leftMs = work.until - this.now();
    const node = leftMs > 0 ? this.next(tried, work, last) : undefined;
    if (node === undefined) return undefined;
    tried.add(node);
    progress.attempts += 1;
    if (last !== undefined) this.failedOver();
    const { outcomes } = await this.attempt(node, work, progress);
    work.signal.throwIfAborted();
    return outcomes;
  }

  /** One node gets it; another one only when the first has certainly not taken it. */
  async write(work: Work): Promise<{ outcome: RpcOutcome; node: RpcNode | undefined }> {
    this.heights.used();
    const tried = new Set<RpcNode>();
    let outcome = this.nobody();
    while (tried.size < MOST_ATTEMPTS) {
      const leftMs = work.until - this.now();
      const node = leftMs > 0 ? this.pick(tried, work.preferred) : undefined;
      if (node === undefined) break;
      tried.add(node);
      if (tried.size > 1) this.failedOver();
      const asking = { signal: work.signal, timeoutMs: leftMs, maxBytes: work.maxBytes, once: true };
      const answered = await node.ask(work.calls, asking).done;
      work.signal.throwIfAborted();
      outcome = answered.outcomes[0] ?? outcome;
      if (outcome.kind !== 'failed' || outcome.sent) return { outcome, node };
    }
    return { outcome, node: undefined };
  }

  /** What a call ends with that no node was asked for. */
  nobody(): RpcOutcome {
    const limited = this.nodes.length > 0 && this.nodes.every((node) => node.state() === 'limited');
    return { kind: 'failed', reason: limited ? 'capacity' : 'broken', sent: false };
  }

  async close(): Promise<void> {
    this.heights.close();
    await Promise.all(this.nodes.map((node) => node.door.close()));
  }

  /** A node that is alone is asked again when the connection broke: it may have been closing as the request came. */
  private next(tried: Set<RpcNode>, work: Work, last: RpcOutcome | undefined): RpcNode | undefined {
    const untried = this.pick(tried, work.preferred);
    if (untried !== undefined || tried.size === 0) return untried;
    if (last?.kind !== 'failed' || last.reason !== 'broken') return undefined;
    const [first] = tried;
    return first !== undefined && isReady(first) ? first : undefined;
  }

  /** So that another attempt has time, where one can follow: the last one gets all that is left. */
  private patience(node: RpcNode, { calls, until, heavy }: Work, progress: Progress): Patience | undefined {
    if (heavy) return undefined;
    const usual = node.latencies.hedgeAfterMs(calls.length);
    const wanted = usual === undefined ? LONGEST_LIGHT_MS : Math.max(SHORTEST_LIGHT_MS, usual * 10);
    return {
      ms: Math.min(wanted, LONGEST_LIGHT_MS, (until - this.now()) / 2),
      // Several can go on in parts, also at the same node.
      isOver: () =>
        calls.length > 1 ||
        (progress.attempts < MOST_ATTEMPTS && this.readyBeside(progress.tried) !== undefined),
    };
  }

  private readyBeside(tried: ReadonlySet<RpcNode>): RpcNode | undefined {
    const other = this.pick(tried);
    return other !== undefined && isReady(other) ? other : undefined;
  }

  private attempt(node: RpcNode, work: Work, progress: Progress): Promise<Attempt> {
    const { calls, signal, maxBytes, heavy, until } = work;
    const patience = this.patience(node, work, progress);
    const asking = { signal, timeoutMs: until - this.now(), patience, maxBytes };
    if (this.nodes.length === 1) return node.ask(calls, asking).done;
    if (heavy) {
      const ask: HeavyAsking<Attempt>['ask'] = (each, hearing) =>
        each.ask(calls, { maxBytes, ...hearing }).done;
      return this.askHeavy(node, work, { tried: progress.tried, ask, isBad: isOpen });
    }
    return askHedged(node, {
      ...{ calls, asking, budget: this.budget },
      other: () => this.hedge(progress.tried),
    });
  }

  /** Another one is asked as well when the node is silent for long. */
  askHeavy<T>(node: RpcNode, { signal, until }: Work, { tried, ...asking }: HeavyAsking<T>): Promise<T> {
    return askBesideSilence(node, {
      ...{ ...asking, signal, leftMs: until - this.now(), budget: this.heavyBudget },
      other: () => this.hedge(tried),
    });
  }

  private hedge(tried: Set<RpcNode>): RpcNode | undefined {
    const other = this.readyBeside(tried);
    if (other === undefined) return undefined;
    tried.add(other);
    this.options.observe({ kind: 'hedge', network: this.network });
    return other;
  }

  private async inParts(work: Work, pending: readonly number[], outcomes: RpcOutcome[]): Promise<void> {
    // Each part listens.
    setMaxListeners(0, work.signal);
    const size = pending.length > PART ? PART : 1;
    const parts: (readonly number[])[] = [];
    for (let at = 0; at < pending.length; at += size) parts.push(pending.slice(at, at + size));
    await Promise.all(
      parts.map(async (part) => {
        const answered = await this.read({ ...work, calls: work.calls.only(part) });
        for (const [at, index] of part.entries()) outcomes[index] = better(outcomes[index], answered[at]);
      }),
    );
  }
}
