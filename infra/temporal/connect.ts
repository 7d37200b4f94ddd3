/** Temporal client: one lazy connection, every call with a deadline. */

import type { AsyncLocalStorage } from 'node:async_hooks';
import { type CallContext, Client, Connection, WorkflowService } from '@temporalio/client';
import { traceCalls } from './traceHeaders.ts';

export interface TemporalOptions {
  address: string;
  namespace: string;
  /** `none`: a failed call is reported at once, for callers with their own retries. Those of the SDK take 17 s. */
  retries?: 'none';
}

/** Reconnects within a second after an outage; by default the pauses grow to two minutes. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };

export interface Temporal {
  client: Client;
  /** Runs calls that must end within `timeoutMs`: a late answer is an error of the call, not a hang. */
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

const WORKFLOW_SERVICE = 'temporal.api.workflowservice.v1.WorkflowService';

/**
 * Connection with a deadline per call. The SDK keeps it in an AsyncLocalStorage, which slows down all promises of the
 * process from its first use on, by about a tenth of a small request. Bench `front`.
 */
class BoundedConnection extends Connection {
  /** The same connection, with a service whose calls all end by then (Unix ms). */
  until(deadline: number): Connection {
    const context: Pick<AsyncLocalStorage<CallContext>, 'getStore'> = { getStore: () => ({ deadline }) };
    const { interceptors, metadata } = this.options;
    const call = Connection.generateRPCImplementation({
      serviceName: WORKFLOW_SERVICE,
      client: this.client,
      callContextStorage: context as AsyncLocalStorage<CallContext>,
      interceptors,
      staticMetadata: metadata,
      apiKeyFnRef: {},
    });
    const workflowService = WorkflowService.create(call, false, false);
    return Object.create(this, { workflowService: { value: workflowService } }) as Connection;
  }
}
