/**
 * Methods that the proxy admits, with their networks and tiers (RPC-2). Names match exactly. Other methods are refused,
 * with a reason where callers can act on it.
 */
import {
  EVM_METHODS,
  type MethodGroup,
  namesIn,
  type RpcTier,
  SOLANA_METHODS,
  STARKNET_METHODS,
} from './methodGroups.ts';
import type { RpcFamily, RpcNetwork } from './networks.ts';
import type { CallMethod } from './rpcCalls.ts';

const TIER_MULTIPLIER: Record<RpcTier, number> = { standard: 1, advanced: 2, large: 4 };

const GROUPS: Record<RpcFamily, readonly MethodGroup[]> = {
  evm: EVM_METHODS,
  solana: SOLANA_METHODS,
  starknet: STARKNET_METHODS,
};

const known = new Map<string, ReadonlyMap<string, CallMethod>>();

/** Admitted methods of a network, by name. */
export function methodsOf(network: RpcNetwork): ReadonlyMap<string, CallMethod> {
  const before = known.get(network.slug);
  if (before) return before;
  const methods = new Map<string, CallMethod>();
  for (const { tier, chains, networks, writes, methods: names } of GROUPS[network.family]) {
    if (chains && !chains.includes(network.chain)) continue;
    if (networks && !networks.includes(network.slug)) continue;
    const credits = network.baseCredits * TIER_MULTIPLIER[tier];
    for (const name of names) methods.set(name, { name, isWrite: writes === true, credits });
  }
  known.set(network.slug, methods);
  return methods;
}

const HAND_IN = new Set(
  Object.values(GROUPS).flatMap((groups) => groups.flatMap(({ writes, methods }) => (writes ? methods : []))),
);

/** Whether the method submits something that must not be submitted twice, on any network. */
export function isWriteMethod(name: string): boolean {
  return HAND_IN.has(name);
}

/** Reason of a refusal. */
export type MethodRefusal = 'websocket' | 'filter' | 'keys' | 'elsewhere' | 'unknown';

/** Words in parentheses after the method's name (RPC-4). */
export const REFUSAL_WORDS: Record<MethodRefusal, string> = {
  websocket: 'needs a WebSocket',
  filter: 'a filter kept by one node; use eth_getLogs',
  keys: "needs a node's own keys or mining",
  elsewhere: 'of another network',
  unknown: 'not on the list of admitted methods',
};

/**
 * Methods that need a WebSocket (RPC-4); starknet: the WebSocket part of its API (starknet-specs,
 * starknet_ws_api.json).
 */
const WEBSOCKET = new Set(['eth_subscribe', 'eth_unsubscribe', 'starknet_unsubscribe']);
const WEBSOCKET_SHAPES = /^(?:[a-z][A-Za-z]*(?:Subscribe|Unsubscribe)|starknet_subscribe[A-Za-z]+)$/;
const FILTERS = new Set(
  namesIn(`
    eth_newFilter eth_newBlockFilter eth_newPendingTransactionFilter eth_getFilterChanges eth_getFilterLogs
    eth_uninstallFilter
  `),
);
/** Methods that use keys or mining of a node (RPC-4), in past and present nodes. */
const KEYS = new Set(
  namesIn(`
    eth_sign eth_accounts eth_mining eth_hashrate eth_getWork eth_submitWork eth_submitHashrate eth_coinbase
    eth_signTransaction eth_sendTransaction eth_signTypedData eth_signTypedData_v3 eth_signTypedData_v4
    personal_sign
  `),
);
const ANYWHERE = new Set(Object.values(GROUPS).flatMap((groups) => groups.flatMap(({ methods }) => methods)));

/** Reason for a name that `methodsOf` does not contain. */
export function refusalOfMethod(name: string): MethodRefusal {
  if (WEBSOCKET.has(name) || (name.length <= 64 && WEBSOCKET_SHAPES.test(name))) return 'websocket';
  if (FILTERS.has(name)) return 'filter';
  if (KEYS.has(name)) return 'keys';
  return ANYWHERE.has(name) ? 'elsewhere' : 'unknown';
}

const MAX_SHOWN_LETTERS = 64;

/** Quotes, cuts and escapes a name to ASCII, so that it cannot be mistaken for a similar one. */
export function shownName(name: string): string {
  const cut = name.length > MAX_SHOWN_LETTERS ? `${name.slice(0, MAX_SHOWN_LETTERS)}…` : name;
  return JSON.stringify(cut).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
