/** Chain node over real sockets with settable answers and a record of calls. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface NodeCall {
  id: unknown;
  method: string;
  params: unknown[];
}

/** Writes the whole response. */
export type Respond = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;
export type Reply = string | { status: number; body?: string; headers?: Record<string, string> } | Respond;

export interface ChainNode {
  readonly url: string;
  readonly calls: NodeCall[];
  /** HTTP requests except those for heights. */
  requests: number;
  /** Maximum of concurrent requests. */
  mostAtOnce: number;
  height: number;
  /** Undefined makes the node answer with an error. */
  finalized: number | undefined;
  genesis: string;
  /** Delay before each response. */
  delayMs: number;
  /** Replaces the whole response. Undefined keeps it. Not called for heights. */
  reply: ((calls: NodeCall[], isBatch: boolean) => Reply | undefined) | undefined;
  /** JSON text of a call's member: `"result":…` or `"error":…`. */
  answer: (call: NodeCall) => string;
  /** Whether requests for heights are answered by `reply` and `answer` too. */
  looksFail: boolean;
  close(): Promise<void>;
}

export async function startChainNode(): Promise<ChainNode> {
  let atOnce = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    atOnce += 1;
    node.mostAtOnce = Math.max(node.mostAtOnce, atOnce);
    response.once('close', () => {
      atOnce -= 1;
    });
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    const read = JSON.parse(text) as NodeCall | NodeCall[];
    await answerWith(node, { request, response, read }).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const node: ChainNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    requests: 0,
    mostAtOnce: 0,
    height: 1_000,
    finalized: 900,
    genesis: '0xgenesis',
    delayMs: 0,
    reply: undefined,
    answer: (call) => `"result":"${call.method}"`,
    looksFail: false,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return node;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  read: NodeCall | NodeCall[];
}

async function answerWith(node: ChainNode, { request, response, read }: Exchange): Promise<void> {
  const isBatch = Array.isArray(read);
  const calls = isBatch ? read : [read];
  const look = isBatch || node.looksFail ? undefined : lookOf(node, read);
  if (look === undefined) {
    node.requests += 1;
    node.calls.push(...calls);
    if (node.delayMs > 0) await sleep(node.delayMs);
    const reply = node.reply?.(calls, isBatch);
    if (typeof reply === 'function') return await reply(response, request);
    if (typeof reply === 'object') {
      response.writeHead(reply.status, reply.headers).end(reply.body ?? '');
      return;
    }
    if (reply !== undefined) {
      response.setHeader('content-type', 'application/json').end(reply);
      return;
    }
  }
  const items = calls.map((call) => itemText(call.id, look ?? node.answer(call)));
  response.setHeader('content-type', 'application/json').end(isBatch ? `[${items.join(',')}]` : items[0]);
}

export function itemText(id: unknown, member: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`;
}

function lookOf(node: ChainNode, { method, params }: NodeCall): string | undefined {
  if (method === 'eth_blockNumber') return `"result":"0x${node.height.toString(16)}"`;
  if (method !== 'eth_getBlockByNumber') return undefined;
  if (params[0] === '0x0') return `"result":{"number":"0x0","hash":"${node.genesis}"}`;
  if (params[0] === 'finalized') {
    const { finalized } = node;
    if (finalized === undefined) return '"error":{"code":-39001,"message":"unknown block"}';
    return `"result":{"number":"0x${finalized.toString(16)}"}`;
  }
  return undefined;
}
