import { createRpcUpstreams } from '../../../providers/rpc/createRpcUpstreams.ts';
import type { RpcEvent, RpcTools } from '../../../providers/rpc/rpcTools.ts';
import type { RpcItem } from '../../../providers/rpc/rpcUpstreams.ts';

export const NETWORK = 'base-sepolia';

/** The upstreams in front of some nodes, and what they tell of themselves. */
export function openUpstreams(urls: readonly string[], tools: RpcTools = {}, network = NETWORK) {
  const events: RpcEvent[] = [];
  const settings = { endpoints: urls, allowPrivateNetwork: true };
  const upstreams = createRpcUpstreams(
    { rpc: { networks: { [network]: settings } }, secret: () => undefined },
    { pollMs: 50, ...tools, observe: (event) => events.push(event) },
  );
  return { upstreams, events };
}

export function read(method = 'eth_call', params?: string): RpcItem {
  return { method, params, isWrite: false };
}

export function write(params = '["0xsigned"]'): RpcItem {
  return { method: 'eth_sendRawTransaction', params, isWrite: true };
}

/** Of a client that waits for ever. */
export function patient(): AbortSignal {
  return new AbortController().signal;
}
