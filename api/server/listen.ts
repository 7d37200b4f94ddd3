/** HTTP server with its limits against slow, surplus and malformed clients. */
import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { callerNetwork } from '../../infra/http/callerNetwork.ts';
import type { TrustedProxies } from '../../infra/http/trustedProxies.ts';
import type { Metrics } from '../../infra/telemetry/metrics.ts';
import type { TurnGuard } from './turnGuard.ts';

const HEADERS_TIMEOUT_MS = 10_000;
/** Whole request with its body; routes have tighter limits on bodies. */
const REQUEST_TIMEOUT_MS = 125_000;
/** Longer than the idle time of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000;
/** Time without a byte in either direction: longer than any route may take. */
const SILENCE_MS = 150_000;
const MAX_CONNECTIONS = 20_000;

export interface ListenOptions {
  host: string;
  port: number;
  metrics: Metrics;
  turnGuard: TurnGuard;
  /**
   * Connections of one address (for IPv6 one /64) at a time: one client must not use up those of the process. Default
   * 2,000.
   */
  connectionsPerAddress?: number;
  /** Exempt from that limit: many clients connect through them. */
  proxies?: Pick<TrustedProxies, 'trusts'>;
}

export async function listen(handler: RequestListener, options: ListenOptions): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: 16_384,
      noDelay: true,
      // The application refuses a request without Host, with a body (api/http/middleware/requireHost.ts).
      requireHostHeader: false,
    },
    handler,
  );
  server.timeout = SILENCE_MS;
  server.maxConnections = MAX_CONNECTIONS;
  // By default Node requests the body before the credential is checked.
  server.on('checkContinue', handler);
  server.on('clientError', refuseMalformed);
  limitPerAddress(server, options);
  options.turnGuard.guard(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, backlog: 1_024 }, resolve);
  });
  return server;
}

function limitPerAddress(server: Server, options: ListenOptions): void {
  const { connectionsPerAddress = 2_000, metrics, proxies } = options;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const network = callerNetwork(address);
    const count = (open.get(network) ?? 0) + 1;
    open.set(network, count);
    metrics.connections.inc();
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
      metrics.connections.dec();
    });
    if (count <= connectionsPerAddress || proxies?.trusts(address)) return;
    metrics.connectionsRefused.inc();
    socket.destroy();
  });
}

const STATUS_LINES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Malformed HTTP never reaches the application; it gets a documented body all the same. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = STATUS_LINES[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ error: status.slice(4) });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n` +
      `X-Request-ID: ${randomUUID().replaceAll('-', '')}\r\nConnection: close\r\n\r\n${body}`,
  );
}
