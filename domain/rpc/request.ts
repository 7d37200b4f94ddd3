/**
 * Request of a client, admitted or refused as a whole (RPC-3). The text for a node is rebuilt from the parsed request:
 * bytes that were not understood never reach a node (RPC-5).
 */
import { FareboxError } from '../errors.ts';
import { JsonBytes, jsonBytes } from '../json/jsonBytes.ts';
import { JsonProblem, NO_LIMITS } from '../json/jsonLimits.ts';
import { rewriteJson } from '../json/rewriteJson.ts';
import { CallReader } from './callReader.ts';
import { methodsOf, REFUSAL_WORDS, refusalOfMethod, shownName } from './methods.ts';
import type { RpcNetwork } from './networks.ts';
import { type CallMethod, RpcCalls } from './rpcCalls.ts';

export const MAX_ITEMS = 100;
export const RPC_JSON_LIMITS = { ...NO_LIMITS, levels: 64, members: 20_000 };
const LIMITS = { json: RPC_JSON_LIMITS, items: MAX_ITEMS };

export interface RpcRequest {
  calls: RpcCalls;
  /** Sent, and therefore answered, as an array. */
  isBatch: boolean;
  /** Text that is equal for requests that differ only in white space, escapes and the order of members. */
  canonical(): string;
  /** Most credits that it can cost. */
  credits: number;
}

/** Whether a call submits something that must not be submitted twice. */
export function hasWrites({ calls }: Pick<RpcRequest, 'calls'>): boolean {
  return calls.some(({ isWrite }) => isWrite);
}

/** `bytes`: UTF-8. Throws FareboxError `invalid_json` or `invalid_request`. */
export function readRpcRequest(bytes: Buffer, network: RpcNetwork): RpcRequest {
  const { placed, names, isBatch, items, problem } = readCalls(bytes);
  if (items === 0) throw refused('A batch needs at least one item.');
  if (items > MAX_ITEMS) throw refused(`A batch has at most ${MAX_ITEMS} items; this one has ${items}.`);
  if (problem !== undefined) throw refused(problem);
  const methods = admit(network, names);
  let credits = 0;
  for (const method of methods) credits += method.credits;
  const canonical = () => rewrite(bytes, true);
  return { calls: new RpcCalls(placed, methods), isBatch, canonical, credits };
}

/** Reads the calls as sent, otherwise after rewriting the text to its shortest form. */
function readCalls(bytes: Buffer): CallReader {
  const sent = new CallReader(new JsonBytes(bytes), LIMITS);
  try {
    if (sent.read()) return sent;
  } catch (error) {
    // The rewriting reports an earlier duplicate name instead.
    if (!(error instanceof JsonProblem)) throw error;
  }
  const rewritten = new CallReader(jsonBytes(rewrite(bytes, false)), LIMITS);
  rewritten.read();
  return rewritten;
}

function rewrite(bytes: Buffer, isSorted: boolean): string {
  try {
    return rewriteJson(new JsonBytes(bytes), RPC_JSON_LIMITS, isSorted);
  } catch (error) {
    throw error instanceof JsonProblem ? unreadable(error) : error;
  }
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

function unreadable({ problem, duplicate }: JsonProblem): FareboxError {
  switch (problem) {
    case 'duplicate':
      return refused(`The name ${shownName(duplicate)} comes twice in one object.`);
    case 'levels':
      return refused(`The JSON body is nested more than ${RPC_JSON_LIMITS.levels} levels deep.`);
    case 'members':
      return refused(`The JSON body has more than ${RPC_JSON_LIMITS.members} values.`);
    default:
      return new FareboxError({ code: 'invalid_json', message: 'Invalid JSON request' });
  }
}

function refused(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
