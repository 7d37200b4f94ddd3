/**
 * Combines the nodes of a chain. Each node is read independently, from first block to last. A reading counts if more
 * than half of the configured nodes return it identically. A single configured node is enough alone.
 */
import { ChainUnavailable, type PaymentLookup, type SignedPayment } from '../paymentNetwork.ts';
import { type ChainNode, createChainNode, type NodeSettings, type ProvenNode } from './chainNode.ts';

export interface Readings<T> {
  /** Reading of more than half of the nodes; undefined if they differ. */
  agreed: { value: T } | undefined;
  /** Readings of the nodes that had answered by then: at least more than half. */
  all: readonly T[];
}

export interface RpcNodes {
  readonly nodeCount: number;
  /** `read` must return plain JSON. Throws ChainUnavailable if half of the nodes or more do not answer. */
  readings<T>(read: (node: ChainNode) => Promise<T>, signal: AbortSignal): Promise<Readings<T>>;
  /** Returns the agreed reading. Also throws ChainUnavailable if the nodes disagree. */
  agreed<T>(read: (node: ChainNode) => Promise<T>, signal: AbortSignal): Promise<T>;
  /**
   * Runs `act` at all nodes and returns the results that arrive soon after the first. `act` may throw only if its node
   * did not answer. Throws only the reason of `signal`.
   */
  each<T>(act: (node: ChainNode) => Promise<T>, signal: AbortSignal): Promise<T[]>;
  close(): Promise<void>;
}

export interface NodesSettings extends Omit<NodeSettings, 'url'> {
  urls: readonly string[];
}

/** Time limit of one reading, which takes several calls. */
const READING_TIMEOUT_MS = 30_000;
/** Wait for slower nodes after the first result. */
const GRACE_MS = 300;

export function createRpcNodes({ urls, ...common }: NodesSettings): RpcNodes {
  const nodes = urls.map((url) => createChainNode({ ...common, url }));
  const readings = <T>(read: (node: ChainNode) => Promise<T>, signal: AbortSignal) => readAll(nodes, read, signal);
  return {
    nodeCount: nodes.length,
    readings,
    async agreed(read, signal) {
      const { agreed } = await readings(read, signal);
      if (agreed === undefined) throw new ChainUnavailable(`the nodes of ${common.network} disagree`);
      return agreed.value;
    },
    each: (act, signal) => firstOnes(nodes, act, signal),
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

function inTime(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(READING_TIMEOUT_MS)]);
}

/** Resolves as soon as enough nodes agree, so that a slow node costs no time. */
async function readAll<T>(
  nodes: readonly ProvenNode[],
  read: (node: ChainNode) => Promise<T>,
  signal: AbortSignal,
): Promise<Readings<T>> {
  const quorum = Math.floor(nodes.length / 2) + 1;
  const enough = new AbortController();
  const all: T[] = [];
  const votes = new Map<string, number>();
  const failures: unknown[] = [];
  const agreed = await new Promise<{ value: T } | undefined>((resolve) => {
    let open = nodes.length;
    const done = () => {
      open -= 1;
      if (open === 0) resolve(undefined);
    };
    const count = (value: T) => {
      const key = JSON.stringify(value);
      const votesNow = (votes.get(key) ?? 0) + 1;
      votes.set(key, votesNow);
      all.push(value);
      if (votesNow >= quorum) resolve({ value });
    };
    const within = AbortSignal.any([inTime(signal), enough.signal]);
    for (const node of nodes) {
      node
        .open(within)
        .then(read)
        .then(count)
        .catch((error: unknown) => failures.push(error))
        .finally(done);
    }
  });
  enough.abort(new Error('enough nodes have answered'));
  signal.throwIfAborted();
  if (all.length < quorum) {
    throw new ChainUnavailable('too few nodes answer', { cause: new AggregateError(failures) });
  }
  return { agreed, all: [...all] };
}

async function firstOnes<T>(
  nodes: readonly ProvenNode[],
  act: (node: ChainNode) => Promise<T>,
  signal: AbortSignal,
): Promise<T[]> {
  const answers: T[] = [];
  let grace: NodeJS.Timeout | undefined;
  const soon = new Promise<void>((resolve) => {
    const one = async (node: ProvenNode) => {
      answers.push(await act(await node.open(inTime(signal))));
      grace ??= setTimeout(resolve, GRACE_MS);
    };
    void Promise.allSettled(nodes.map(one)).then(() => resolve());
  });
  await soon;
  clearTimeout(grace);
  signal.throwIfAborted();
  return [...answers];
}

/** State of a payment at one node. `Place` is its position, so that nodes on two sides of a fork disagree. */
export type Sighting<Place> =
  | { state: 'absent'; gone: boolean; dropped?: true; stuck?: true }
  | ({ state: 'pending' | 'final' | 'wrong'; transaction: string } & Place);

/**
 * Combines the nodes' sightings. Final, wrong and gone need agreement; without it a payment seen by one node is
 * pending. `reason`: reported with `wrong`.
 */
export function combineSightings<Place>(
  { agreed, all }: Readings<Sighting<Place>>,
  { amount }: SignedPayment,
  reason: string,
): PaymentLookup {
  if (agreed === undefined) {
    const seen = all.find((sighting) => sighting.state !== 'absent');
    return seen === undefined ? { state: 'absent', gone: false } : { state: 'pending', transaction: seen.transaction };
  }
  const sighting = agreed.value;
  if (sighting.state === 'absent') return sighting;
  const { state, transaction } = sighting;
  if (state === 'final') return { state, transaction, amount };
  if (state === 'pending') return { state, transaction };
  return { state, transaction, reason };
}
