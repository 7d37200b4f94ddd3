/** Which node of a network is asked next. */
import type { RpcNode } from './rpcNode.ts';

export interface Choice {
  tried: ReadonlySet<RpcNode>;
  random: () => number;
  /** Nodes that know less than the others, or another chain. */
  unfit: (node: RpcNode) => 'lagging' | 'foreign' | undefined;
  /** Asked rather than any other, where it is fit. */
  preferred?: RpcNode | undefined;
}

/** Of a node that failed again and again so many calls at once find out, where there is no other. */
const MOST_ON_OPEN = 4;

/** One that answers and keeps up, by weight; else one that lags; else one that failed lately. */
export function pickNode(nodes: readonly RpcNode[], choice: Choice): RpcNode | undefined {
  const { preferred, tried, unfit } = choice;
  const free = nodes.filter((node) => !tried.has(node) && unfit(node) !== 'foreign');
  const ready = free.filter((node) => isReady(node));
  const fit = ready.filter((node) => unfit(node) === undefined);
  if (preferred !== undefined && fit.includes(preferred)) return preferred;
  if (fit.length > 0) return byWeight(fit, choice.random);
  if (ready.length > 0) return byWeight(ready, choice.random);
  return byWeight(
    free.filter((node) => node.state() === 'open' && node.running < MOST_ON_OPEN),
    choice.random,
  );
}

export function isReady(node: RpcNode): boolean {
  const state = node.state();
  return state === 'closed' || state === 'half-open';
}

function byWeight(nodes: readonly RpcNode[], random: () => number): RpcNode | undefined {
  if (nodes.length === 1) return nodes[0];
  let left = random() * nodes.reduce((sum, node) => sum + node.pull(), 0);
  for (const node of nodes) {
    left -= node.pull();
    if (left < 0) return node;
  }
  return nodes.at(-1);
}
