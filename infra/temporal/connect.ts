/** The client side of Temporal: one lazy connection, every call with a deadline. */
import { Client, type Connection } from '@temporalio/client';
import { BoundedConnection } from './boundedConnection.ts';
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
  const connection = BoundedConnection.lazy({
    address: options.address,
    connectTimeout: 5_000,
    channelArgs: RECONNECT,
    ...(options.retries === 'none' ? { interceptors: [] } : {}),
  }) as BoundedConnection;
  const clientOf = (through: Connection) =>
    new Client({
      connection: through,
      namespace: options.namespace,
      interceptors: { workflow: [traceCalls] },
    });
  const client = clientOf(connection);
  return {
    client,
    async within(timeoutMs, calls) {
      return await calls(clientOf(connection.until(Date.now() + timeoutMs)));
    },
    async ready(timeoutMs) {
      const { workflowService } = connection.until(Date.now() + timeoutMs);
      await workflowService.getSystemInfo({});
      await workflowService.describeNamespace({ namespace: options.namespace });
    },
    async close() {
      await connection.close();
    },
  };
}
