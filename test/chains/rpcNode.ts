/**
 * JSON-RPC node for tests: forwards to a real one unless it is set to lie, lag or fail. Several on one chain are nodes
 * that disagree.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface RpcCall {
  jsonrpc: string;
  id: unknown;
  method: string;
  params?: readonly unknown[];
}

interface RpcReply {
  jsonrpc: string;
  id: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** Reply of the node in place of the chain's. Undefined keeps the chain's. */
type Rewrite = (call: RpcCall, reply: RpcReply) => RpcReply | undefined;

/** Failures of the whole HTTP response. */
const FAILURES = {
  'hangs up': (response) => void response.destroy(),
  hangs: () => undefined,
  'answers 429': (response) => void response.writeHead(429, { 'retry-after': '1' }).end('{"error":"rate limited"}'),
  'answers 500': (response) => void response.writeHead(500).end('internal error'),
  'answers 403': (response) => void response.writeHead(403).end('{"error":"invalid api key SECRET-KEY"}'),
  'answers HTML': (response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Just a moment...</html>'),
  'answers garbage': (response) => void response.writeHead(200).end(Buffer.from([0, 255, 1])),
  'answers 10 MB': (response) =>
    void response.writeHead(200).end(`{"jsonrpc":"2.0","id":1,"result":"${'a'.repeat(10_000_000)}"}`),
  'answers nothing': (response) => void response.writeHead(200).end(),
  'stops halfway': (response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('{"jsonrpc":"2.0",');
    setTimeout(() => response.destroy(), 20);
  },
} satisfies Record<string, (response: ServerResponse) => void>;
export type NodeFailure = keyof typeof FAILURES;

export interface TestNode {
  url: string;
  /** Makes every request fail in this way. */
  fail(as: NodeFailure | undefined): void;
  /** Hides the last blocks. */
  lag(blocks: number): void;
  rewrite(by: Rewrite | undefined): void;
  /** Calls by method. */
  readonly calls: ReadonlyMap<string, number>;
  /** Bodies of the last thousand requests. */
  readonly bodies: readonly string[];
  close(): Promise<void>;
}

interface State {
  upstream: string;
  failure: NodeFailure | undefined;
  lag: number;
  rewrite: Rewrite | undefined;
  calls: Map<string, number>;
  bodies: string[];
}

const MAX_BODIES = 1_000;

export async function startRpcNode(upstream: string): Promise<TestNode> {
  const state: State = {
    ...{ upstream, failure: undefined, lag: 0, rewrite: undefined },
    ...{ calls: new Map(), bodies: [] },
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await handle(state, Buffer.concat(chunks).toString(), response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: state.calls,
    bodies: state.bodies,
    fail: (as) => {
      state.failure = as;
    },
    lag: (blocks) => {
      state.lag = blocks;
    },
    rewrite: (by) => {
      state.rewrite = by;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(state: State, body: string, response: ServerResponse): Promise<void> {
  state.bodies.push(body);
  if (state.bodies.length > MAX_BODIES) state.bodies.shift();
  const parsed = JSON.parse(body) as RpcCall | RpcCall[];
  const calls = Array.isArray(parsed) ? parsed : [parsed];
  for (const { method } of calls) state.calls.set(method, (state.calls.get(method) ?? 0) + 1);
  if (state.failure !== undefined) return FAILURES[state.failure](response);
  const replies = await Promise.all(calls.map((call) => replyTo(state, call)));
  const answer = JSON.stringify(Array.isArray(parsed) ? replies : replies[0]);
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
}

async function replyTo(state: State, call: RpcCall): Promise<RpcReply> {
  const reply = state.lag > 0 ? await laggingReply(state, call) : await ask(state.upstream, call);
  return state.rewrite?.(call, reply) ?? reply;
}

async function ask(upstream: string, call: RpcCall): Promise<RpcReply> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(upstream, { method: 'POST', headers, body: JSON.stringify(call) });
  return (await answer.json()) as RpcReply;
}

/** Block tags that mean the newest block of a node. */
const NEWEST = ['latest', 'pending'];

/** Reply of a node that has not seen the last blocks yet. */
async function laggingReply(state: State, call: RpcCall): Promise<RpcReply> {
  const head = await ask(state.upstream, { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' });
  const known = Math.max(0, Number(head.result) - state.lag);
  const newest = `0x${known.toString(16)}`;
  if (call.method === 'eth_blockNumber') return { jsonrpc: '2.0', id: call.id, result: newest };
  const params = call.params?.map((param) => pinned(param, newest));
  const reply = await ask(state.upstream, params === undefined ? call : { ...call, params });
  const block = (reply.result as { blockNumber?: string; number?: string } | null | undefined) ?? undefined;
  const isLater = Number(block?.blockNumber ?? block?.number ?? 0) > known;
  const isUnknown = isLater && typeof block === 'object';
  return isUnknown ? { jsonrpc: '2.0', id: call.id, result: null } : reply;
}

function pinned(param: unknown, newest: string): unknown {
  if (typeof param === 'string') return NEWEST.includes(param) ? newest : param;
  if (typeof param !== 'object' || param === null || !('fromBlock' in param || 'toBlock' in param)) return param;
  const { toBlock } = param as { toBlock?: unknown };
  const isTooNew = typeof toBlock !== 'string' || NEWEST.includes(toBlock) || Number(toBlock) > Number(newest);
  return isTooNew ? { ...param, toBlock: newest } : param;
}
