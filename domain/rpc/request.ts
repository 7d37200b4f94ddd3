/**
 * Request of a client, admitted as a whole or refused as a whole (RPC-3). The text for a node is written anew from
 * this: never a byte of the client that was not understood (RPC-5).
 */
import { FareboxError } from '../errors.ts';
import { methodsOf, REFUSAL_WORDS, refusalOfMethod } from './methods.ts';
import type { RpcNetwork } from './networks.ts';
import { type AskedCalls, readPlainCalls } from './plainCalls.ts';
import { type CallMethod, placeCalls, RpcCalls } from './rpcCalls.ts';
import { type JsonNode, readStrictJson, type StrictJson, writeJson } from './strictJson.ts';

export const MOST_ITEMS = 100;
export const RPC_JSON_LIMITS = { depth: 64, members: 20_000 };

export interface RpcRequest {
  calls: RpcCalls;
  /** It was sent as an array, and is answered as one. */
  isBatch: boolean;
  /** The same for requests that differ in white space, escapes and the order of members only. */
  canonical(): string;
  /** The most that it can cost. */
  credits: number;
}

/** Whether anything of it is handed in that must not happen twice. */
export function writes({ calls }: Pick<RpcRequest, 'calls'>): boolean {
  return calls.some(({ isWrite }) => isWrite);
}

/** `bytes`: UTF-8. Throws FareboxError `invalid_json` or `invalid_request`. */
export function readRpcRequest(bytes: Buffer, network: RpcNetwork): RpcRequest {
  const limits = { ...RPC_JSON_LIMITS, items: MOST_ITEMS };
  const { placed, names, isBatch } = readPlainCalls(bytes, limits) ?? readStrictCalls(bytes);
  const methods = admit(network, names);
  let credits = 0;
  for (const method of methods) credits += method.credits;
  const canonical = () => writeJson(readNode(bytes), true);
  return { calls: new RpcCalls(placed, methods), isBatch, canonical, credits };
}

function readStrictCalls(bytes: Buffer): AskedCalls {
  const node = readNode(bytes);
  const isBatch = node.kind === 'array';
  const items = node.kind === 'array' ? node.items : [node];
  if (items.length === 0) throw refused('A batch needs at least one item.');
  if (items.length > MOST_ITEMS)
    throw refused(`A batch has at most ${MOST_ITEMS} items; this one has ${items.length}.`);
  const calls = items.map((item, index) => readItem(item, isBatch ? `Item ${index}: ` : ''));
  return { placed: placeCalls(calls), names: calls.map(({ method }) => method), isBatch };
}

function readNode(bytes: Buffer): JsonNode {
  const read = readStrictJson(bytes.toString('utf8'), RPC_JSON_LIMITS);
  if (!('node' in read)) throw unreadable(read);
  return read.node;
}

interface StrictCall {
  /** JSON text. */
  id: string;
  method: string;
  /** JSON text; undefined when none were sent. */
  params: string | undefined;
}

const MEMBERS = new Set(['jsonrpc', 'method', 'params', 'id']);

/** Reads one call. `jsonrpc` may be left out; what JSON-RPC 2.0 does not have is refused (RPC-5). */
function readItem(node: JsonNode, where: string): StrictCall {
  if (node.kind !== 'object') throw refused(`${where}a call must be a JSON object.`);
  const { members } = node;
  for (const name of members.keys()) {
    if (!MEMBERS.has(name)) throw refused(`${where}unknown member ${shownName(name)}.`);
  }
  const version = members.get('jsonrpc');
  if (version && !(version.kind === 'string' && version.value === '2.0'))
    throw refused(`${where}"jsonrpc" must be "2.0".`);
  const method = members.get('method');
  if (method?.kind !== 'string') throw refused(`${where}"method" must be a string.`);
  const params = members.get('params');
  if (params && params.kind !== 'array') throw refused(`${where}"params" must be an array.`);
  return { id: readId(members.get('id'), where), method: method.value, params: params && writeJson(params) };
}

/** JSON-RPC 2.0: a string, a number or null. */
function readId(node: JsonNode | undefined, where: string): string {
  if (!node) throw refused(`${where}"id" is required: notifications are not supported.`);
  if (node.kind === 'string' || node.kind === 'number') return node.text;
  if (node.kind === 'literal' && node.text === 'null') return node.text;
  throw refused(`${where}"id" must be a string, a number or null.`);
}

/** Admits all calls or none (RPC-3). */
function admit(network: RpcNetwork, names: readonly string[]): CallMethod[] {
  const known = methodsOf(network);
  const methods: CallMethod[] = [];
  let last: CallMethod | undefined;
  for (const name of names) {
    if (last?.name !== name) last = known.get(name);
    if (last) methods.push(last);
  }
  if (methods.length === names.length) return methods;
  throw notAdmitted(network, [...new Set(names.filter((name) => !known.has(name)))]);
}

function notAdmitted(network: RpcNetwork, unknown: readonly string[]): FareboxError {
  const subscribing = unknown.find((name) => refusalOfMethod(name) === 'websocket');
  if (subscribing !== undefined) {
    return refused(`Method ${shownName(subscribing)} needs a WebSocket, which this endpoint does not have.`);
  }
  const shown = unknown.map((name) => `${shownName(name)} (${REFUSAL_WORDS[refusalOfMethod(name)]})`);
  return refused(`Unsupported on ${network.slug}: ${shown.join(', ')}.`);
}

const LONGEST_NAME = 64;

/** In quotes, cut, and in ASCII: a name that only looks like another one does not look like it here. */
function shownName(name: string): string {
  const cut = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
  return JSON.stringify(cut).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function unreadable(read: Exclude<StrictJson, { node: JsonNode }>): FareboxError {
  switch (read.problem) {
    case 'syntax':
      return new FareboxError({ code: 'invalid_json', message: 'Invalid JSON request' });
    case 'duplicate':
      return refused(`The name ${shownName(read.name)} comes twice in one object.`);
    case 'depth':
      return refused(`The JSON body is nested more than ${RPC_JSON_LIMITS.depth} levels deep.`);
    case 'members':
      return refused(`The JSON body has more than ${RPC_JSON_LIMITS.members} values.`);
  }
}

function refused(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
