/** What the nodes behind the proxy tell of themselves, as metrics. */
import {
  rpcKept,
  rpcNodeBehind,
  rpcNodeCircuit,
  rpcNodeOutcomes,
  rpcNodeSeconds,
  rpcSecondNodes,
} from '../../infra/telemetry/counters.ts';
import { keepLabelled } from '../../infra/telemetry/labelled.ts';
import type { RpcEvent } from '../../providers/rpc/rpcTools.ts';

export function watchNodes(): (event: RpcEvent) => void {
  const outcomes = keepLabelled(rpcNodeOutcomes);
  const seconds = keepLabelled(rpcNodeSeconds);
  return (event) => {
    const { network } = event;
    switch (event.kind) {
      case 'request':
        outcomes(network, event.upstream, event.outcome).inc();
        seconds(network, event.upstream).observe(event.durationMs / 1_000);
        break;
      case 'node': {
        const node = event.upstream;
        rpcNodeCircuit.set({ network, node }, event.circuit);
        if (event.behind !== undefined) rpcNodeBehind.set({ network, node }, event.behind);
        break;
      }
      case 'cache':
        rpcKept.inc({ network, outcome: event.outcome }, event.count);
        break;
      default:
        rpcSecondNodes.inc({ network, reason: event.kind });
    }
  };
}
