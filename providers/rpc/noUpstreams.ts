/** The nodes of a service that has none. */
import type { RpcUpstreams } from './rpcUpstreams.ts';

export function noUpstreams(): RpcUpstreams {
  const none = async () => ({ kind: 'failed', reason: 'broken', sent: false }) as const;
  return {
    networks: new Set(),
    batch: async (_network, items) => Promise.all(items.map(none)),
    single: none,
    knowsTransaction: async () => undefined,
    close: async () => undefined,
  };
}
