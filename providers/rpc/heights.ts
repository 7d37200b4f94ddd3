/**
 * Polls the block height of each node while the network is in use, to find lagging nodes, nodes of another chain, and
 * the final block.
 */
import type { RpcFamily } from '../../domain/rpc/networks.ts';
import { ownCall, type RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import type { RpcNode } from './rpcNode.ts';
import { type RpcEvent, textOf } from './rpcUpstreams.ts';

export interface Heights {
  /** Reports a call, so that polling continues for a while. */
  used(): void;
  unfit: (node: RpcNode) => 'lagging' | 'foreign' | undefined;
  /** Newest block that is final at every node of the chain; undefined while unknown. */
  finalized(): number | undefined;
  /** Distinguishes chains of the same name, such as a reset test network; undefined while unknown. */
  chain(): string | undefined;
  close(): void;
}

export interface HeightsOptions {
  network: string;
  family: RpcFamily;
  nodes: readonly RpcNode[];
  now: () => number;
  observe: (event: RpcEvent) => void;
  pollMs: number;
}

interface HeightCalls {
  height: RpcCalls;
  chain: RpcCalls;
  finalized?: RpcCalls;
  /** Tolerated lag in blocks: the nodes are not polled at the same instant. */
  tolerated: number;
}

const FAMILIES: Record<RpcFamily, HeightCalls> = {
  evm: {
    height: ownCall('eth_blockNumber', []),
    chain: ownCall('eth_getBlockByNumber', ['0x0', false]),
    finalized: ownCall('eth_getBlockByNumber', ['finalized', false]),
    tolerated: 10,
  },
  starknet: {
    height: ownCall('starknet_blockNumber', []),
    chain: ownCall('starknet_chainId', []),
    tolerated: 5,
  },
  solana: {
    height: ownCall('getSlot', [{ commitment: 'processed' }]),
    chain: ownCall('getGenesisHash', []),
    tolerated: 50,
  },
};

/** Depth of finality without a `finalized` tag: deeper than any reorganisation so far. */
const DEEP_BLOCKS = 1_000;
const USED_MS = 60_000;
const MAX_LOOK_MS = 4_000;
const MAX_LOOK_BYTES = 4 * 1024 * 1024;
/** The chain is checked once per this many polls. */
const CHAIN_EVERY = 12;
const STATES = { closed: 0, 'half-open': 1, open: 2, limited: 3 } as const;

export function watchHeights(options: HeightsOptions): Heights {
  const { nodes, family, now, observe, network, pollMs } = options;
  const finalities: HeightCheck['finalities'] = new Map();
  const never = new AbortController();
  let usedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let looks = 0;
  let best: number | undefined;
  let chain: string | undefined;

  async function look(): Promise<void> {
    const asksChain = looks % CHAIN_EVERY === 0;
    looks += 1;
    const signal = never.signal;
    await Promise.all(nodes.map((node) => lookAt(node, { signal, family, asksChain, finalities })));
    chain = nodes.find((node) => node.chain !== undefined)?.chain;
    best = bestOf(nodes, chain);
    for (const node of nodes) {
      const behind = best === undefined || node.height === undefined ? undefined : best - node.height;
      observe({ kind: 'node', network, upstream: node.client.name, circuit: STATES[node.state()], behind });
    }
  }

  function again(): void {
    timer = setTimeout(
      async () => {
        await look();
        timer = undefined;
        if (!never.signal.aborted && now() - usedAt < USED_MS) again();
      },
      looks === 0 ? 0 : pollMs,
    ).unref();
  }

  const unfit = (node: RpcNode) => {
    if (chain !== undefined && (node.chain ?? chain) !== chain) return 'foreign';
    const lags = best !== undefined && node.height !== undefined && best - node.height > FAMILIES[family].tolerated;
    return lags ? 'lagging' : undefined;
  };

  return {
    used() {
      usedAt = now();
      if (timer === undefined && !never.signal.aborted) again();
    },
    unfit,
    finalized() {
      // A lagging node reports too low. Excluding it would let one false height discredit honest nodes.
      const own = nodes.filter((node) => unfit(node) !== 'foreign');
      const known = own.flatMap((node) => finalities.get(node)?.height ?? []);
      return known.length === 0 ? undefined : Math.min(...known);
    },
    chain: () => chain,
    close() {
      never.abort();
      clearTimeout(timer);
    },
  };
}

function bestOf(nodes: readonly RpcNode[], chain: string | undefined): number | undefined {
  const known = nodes.filter((node) => (node.chain ?? chain) === chain);
  const heights = known.flatMap(({ height }) => (height === undefined ? [] : [height]));
  return heights.length === 0 ? undefined : Math.max(...heights);
}

interface HeightCheck {
  signal: AbortSignal;
  family: RpcFamily;
  asksChain: boolean;
  /** Newest final block. `isTold`: reported by the node, not derived from its height. */
  finalities: Map<RpcNode, { height: number; isTold: boolean }>;
}

/** Values that a node does not report stay unchanged; its calls show whether it works. */
async function lookAt(node: RpcNode, { signal, family, asksChain, finalities }: HeightCheck): Promise<void> {
  if (node.state() === 'limited') return;
  const { height, finalized, chain } = FAMILIES[family];
  const now = numberOf(await answerOf(node, height, signal));
  if (now === undefined) return;
  const beganAnew = node.height !== undefined && now < node.height;
  node.height = now;
  if (asksChain || node.chain === undefined || beganAnew) {
    const reportedChain = chainOf(await answerOf(node, chain, signal)) ?? node.chain;
    if (reportedChain !== node.chain) finalities.delete(node);
    node.chain = reportedChain;
  }
  if (finalized === undefined) return;
  const block = await answerOf(node, finalized, signal);
  const finalHeight = numberOf(memberOf(block, 'number'));
  if (finalHeight !== undefined) finalities.set(node, { height: Math.min(finalHeight, now), isTold: true });
  // A derived block may be newer than the final one, so an older reported block takes precedence.
  else if (finalities.get(node)?.isTold !== true) {
    finalities.set(node, { height: Math.max(0, now - DEEP_BLOCKS), isTold: false });
  }
}

async function answerOf(node: RpcNode, call: RpcCalls, signal: AbortSignal): Promise<unknown> {
  const asking = { signal, timeoutMs: MAX_LOOK_MS, maxBytes: MAX_LOOK_BYTES };
  const [outcome] = (await node.ask(call, asking).done).outcomes;
  return outcome?.kind === 'result' ? JSON.parse(textOf(outcome)) : undefined;
}

function chainOf(answer: unknown): string | undefined {
  const hash = memberOf(answer, 'hash') ?? answer;
  return typeof hash === 'string' && hash.length <= 128 ? hash : undefined;
}

/** Parses `0x1f` or a plain number. */
function numberOf(value: unknown): number | undefined {
  const isHex = typeof value === 'string' && /^0x[0-9a-fA-F]{1,13}$/.test(value);
  const number = isHex ? Number(value) : value;
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
}

export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
