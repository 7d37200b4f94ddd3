/** `GET /metrics` of a process without another server. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { MonitorAccess } from '../http/monitorAccess.ts';

export interface MetricsServer {
  port: number;
  close(): void;
}

export interface MetricsServerOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  mayMonitor: MonitorAccess;
}

const MAX_CONNECTIONS = 32;
const REQUEST_LIMIT_MS = 5_000;

export async function serveMetrics(
  registry: Registry,
  { host, port, mayMonitor }: MetricsServerOptions,
): Promise<MetricsServer> {
  const server = createServer(
    { requestTimeout: REQUEST_LIMIT_MS, headersTimeout: REQUEST_LIMIT_MS, keepAliveTimeout: 60_000 },
    (request, response) => {
      request.resume();
      const isKnown = request.method === 'GET' && request.url === '/metrics';
      if (isKnown && mayMonitor(request)) void answer(registry, response);
      else response.writeHead(404).end();
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  // A later error of this server must not end the process.
  server.on('error', () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(registry: Registry, response: ServerResponse): Promise<void> {
  try {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } catch {
    response.writeHead(500).end();
  }
}
