import { type CallMethod, placeCalls, RpcCalls } from '../../../domain/rpc/rpcCalls.ts';
import { createRpcUpstreams } from '../../../providers/rpc/createRpcUpstreams.ts';
import {
  type RpcEvent,
  type RpcOutcome,
  type RpcStream,
  type RpcTools,
  textOf,
} from '../../../providers/rpc/rpcUpstreams.ts';

export const NETWORK = 'base-sepolia';

/** Opens upstreams for the given nodes, and collects what they report. */
export function openUpstreams(urls: readonly string[], tools: RpcTools = {}, network = NETWORK) {
  const events: RpcEvent[] = [];
  const settings = { endpoints: urls, allowPrivateNetwork: true };
  const upstreams = createRpcUpstreams(
    { rpc: { networks: { [network]: settings } }, secret: () => undefined },
    { pollMs: 50, ...tools, observe: (event) => events.push(event) },
  );
  return { upstreams, events };
}

export function read(method = 'eth_call', params?: string): RpcCalls {
  return call({ name: method, isWrite: false, credits: 20 }, params);
}

export function write(params = '["0xsigned"]'): RpcCalls {
  return call({ name: 'eth_sendRawTransaction', isWrite: true, credits: 20 }, params);
}

function call(method: CallMethod, params: string | undefined): RpcCalls {
  return new RpcCalls(placeCalls([{ id: '1', params }]), [method]);
}

/** Joins several calls into one batch. */
export function together(calls: readonly RpcCalls[]): RpcCalls {
  const placed = placeCalls(calls.map((each) => ({ id: each.id(0), params: each.params(0) })));
  return new RpcCalls(
    placed,
    calls.map((each) => each.method(0)),
  );
}

/** Signal of a client that waits without limit. */
export function patient(): AbortSignal {
  return new AbortController().signal;
}

/** Outcome with its JSON as text. */
export function told(outcome: RpcOutcome | RpcStream | undefined): object | undefined {
  if (outcome?.kind !== 'result') return outcome;
  return { kind: 'result', value: textOf(outcome), cached: outcome.cached };
}
