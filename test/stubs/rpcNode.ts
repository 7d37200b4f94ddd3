/**
 * Node of every blockchain over HTTP, each under a path of its name. A param of an item selects the answer:
 * `["error"]`, `["other id"]`, `["both"]`, `["neither"]`, `["no id"]`. Others give a result that repeats the params.
 * `["status 429"]` sets the HTTP status, `["slow"]` delays the response until `release`, `["hang up"]` closes the
 * connection.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keccak256 } from 'viem/utils';

export interface RpcNode {
  url: string;
  /** `network method` of all items, also of invalid ones. */
  seen: Set<string>;
  requests: number;
  /** Submitted raw transactions with duplicates. */
  handedIn: string[];
  /** Runs when a request has arrived, before the response. */
  onRequest?: (() => Promise<void> | void) | undefined;
  release(): void;
  close(): Promise<void>;
}

const RAW = /^0x(?:[0-9a-f]{2})+$/;
const ORDERS = new Set<unknown>(['error', 'other id', 'both', 'neither', 'no id']);

interface Item {
  id?: unknown;
  method?: unknown;
  params?: unknown[];
}

export async function startRpcNode(): Promise<RpcNode> {
  const held: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = JSON.parse(Buffer.concat(chunks).toString()) as Item | Item[];
    const items = Array.isArray(sent) ? sent : [sent];
    node.requests += 1;
    for (const item of items) node.seen.add(`${request.url?.slice(1)} ${item.method}`);
    await node.onRequest?.();
    const orders = items.flatMap(({ params }) => params ?? []).map(String);
    if (orders.includes('hang up')) return void request.socket.destroy();
    if (orders.includes('slow')) await new Promise<void>((resolve) => held.push(resolve));
    const status = orders.find((order) => order.startsWith('status '))?.slice(7);
    response.writeHead(Number(status ?? 200), { 'content-type': 'application/json' });
    const answers = items.map((item) => answerTo(item, node.handedIn));
    response.end(JSON.stringify(Array.isArray(sent) ? answers : answers[0]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const node: RpcNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: new Set(),
    requests: 0,
    handedIn: [],
    release: () => {
      for (const resolve of held.splice(0)) resolve();
    },
    close: async () => {
      node.release();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return node;
}

function answerTo({ id, method, params }: Item, handedIn: string[]): object {
  const error = { code: 3, message: 'execution reverted', data: '0x' };
  switch (params?.find((param) => ORDERS.has(param))) {
    case 'error':
      return { jsonrpc: '2.0', id, error };
    case 'other id':
      return { jsonrpc: '2.0', id: 'nobody asked', result: 1 };
    case 'no id':
      return { jsonrpc: '2.0', result: 1 };
    case 'both':
      return { jsonrpc: '2.0', id, result: 1, error };
    case 'neither':
      return { jsonrpc: '2.0', id };
    default:
      if (method === 'eth_sendRawTransaction' && RAW.test(String(params?.[0]))) {
        handedIn.push(String(params?.[0]));
        return { jsonrpc: '2.0', id, result: keccak256(params?.[0] as `0x${string}`) };
      }
      if (method === 'eth_getTransactionByHash') {
        const known = handedIn.some((raw) => keccak256(raw as `0x${string}`) === params?.[0]);
        return { jsonrpc: '2.0', id, result: known ? { hash: params?.[0] } : null };
      }
      return { jsonrpc: '2.0', id, result: params ?? null };
  }
}
