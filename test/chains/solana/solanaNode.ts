/**
 * JSON-RPC service of a validator for one chain. Several nodes may share a chain, and each may be set to lie, be slow
 * or break.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { invalidParams, type Params, RpcFault, type RpcMethod } from './rpcCall.ts';
import type { SolanaChain } from './solanaChain.ts';
import { READS } from './solanaReads.ts';
import { TRANSACTIONS } from './solanaTransactions.ts';

export interface NodeCall {
  method: string;
  params: Params;
}

export interface SolanaNode {
  url: string;
  /** Received calls in order. */
  calls: NodeCall[];
  /** Returns the result in place of the honest one, or throws RpcFault for an error. */
  rewrite: ((call: NodeCall, result: unknown) => unknown) | undefined;
  /** Runs before each HTTP response. Returns false if it has responded itself. */
  disturb: ((body: string, response: ServerResponse) => Promise<boolean> | boolean) | undefined;
  close(): Promise<void>;
}

const METHODS = new Map<string, RpcMethod>(Object.entries({ ...READS, ...TRANSACTIONS }));
const MAX_BODY_BYTES = 50 * 1024;
const MAX_CALLS = 10_000;

export async function startSolanaNode(chain: SolanaChain): Promise<SolanaNode> {
  const server = createServer((request, response) => {
    serve(chain, node, { request, response }).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const node: SolanaNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    rewrite: undefined,
    disturb: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return node;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

async function serve(chain: SolanaChain, node: SolanaNode, { request, response }: Exchange): Promise<void> {
  const body = await bodyOf(request);
  if (node.disturb !== undefined && !(await node.disturb(body, response))) return;
  if (request.method !== 'POST') {
    response.writeHead(405).end('Used HTTP Method is not allowed. POST or OPTIONS is required');
    return;
  }
  const parsed = parse(body);
  const answer = Array.isArray(parsed)
    ? parsed.map((each) => answerTo(chain, node, each))
    : answerTo(chain, node, parsed);
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(toJson(answer));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function answerTo(chain: SolanaChain, node: SolanaNode, given: unknown): object {
  if (given === undefined) return { jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' }, id: null };
  const { id = null, method, params = [] } = (given ?? {}) as Record<string, unknown>;
  if (typeof method !== 'string') {
    return { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request' }, id };
  }
  try {
    if (!Array.isArray(params)) throw invalidParams('Invalid params: expected a sequence');
    const call = { method, params };
    if (node.calls.length < MAX_CALLS) node.calls.push(call);
    const run = METHODS.get(method);
    if (run === undefined) throw new RpcFault(-32601, 'Method not found');
    const honest = run(chain, params);
    return { jsonrpc: '2.0', result: node.rewrite === undefined ? honest : node.rewrite(call, honest), id };
  } catch (error) {
    const { code, message, data } =
      error instanceof RpcFault ? error : new RpcFault(-32603, `Internal error: ${String(error)}`);
    return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id };
  }
}

/** Writes bigint amounts as numbers with all digits. */
function toJson(answer: unknown): string {
  const text = JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? `\u0001${value}` : value));
  return text.replace(/"\\u0001(\d+)"/g, '$1');
}
