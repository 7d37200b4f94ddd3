/** The client side of Temporal: one lazy connection, every call with a deadline. */
import { Client, Connection } from '@temporalio/client';
import { traceCalls } from './traceHeaders.ts';

export interface TemporalOptions {
  address: string;
  namespace: string;
  /** `none`: a failed call is told at once, for callers that repeat with their own patience. The SDK's take 17 s. */
  retries?: 'none';
}

/** After an outage the server is found again within a second; by default the pauses grow to two minutes. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };

export interface Temporal {
  client: Client;
  /** Runs calls that must be over within `timeoutMs`; a late answer is an error of the caller's, not a hang. */
  within<T>(timeoutMs: number, calls: (client: Client) => Promise<T>): Promise<T>;
  /** Resolves when the server answers. */
  ready(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

export function openTemporal(options: TemporalOptions): Temporal {
  const connection = Connection.lazy({
    address: options.address,
    connectTimeout: 5_000,
    channelArgs: RECONNECT,
    ...(options.retries === 'none' ? { interceptors: [] } : {}),
  });
  const client = new Client({
    connection,
    namespace: options.namespace,
    interceptors: { workflow: [traceCalls] },
  });
  return {
    client,
    within(timeoutMs, calls) {
      return connection.withDeadline(Date.now() + timeoutMs, () => calls(client));
    },
    async ready(timeoutMs) {
      await connection.withDeadline(Date.now() + timeoutMs, async () => {
        await connection.workflowService.getSystemInfo({});
        await connection.workflowService.describeNamespace({ namespace: options.namespace });
      });
    },
    async close() {
      await connection.close();
    },
  };
}
