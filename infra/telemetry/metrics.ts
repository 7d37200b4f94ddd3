/** What Prometheus reads from a process: one registry, counted where things happen. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  registry: Registry;
  requests: Histogram<'method' | 'route' | 'status'>;
  requestsInFlight: Gauge;
  connections: Gauge;
  connectionsRefused: Counter;
  uncaught: Counter;
}

const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** With the process's own figures: memory, CPU, garbage collection, event-loop lag. */
export function createMetrics(service: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    requests: new Histogram({
      name: 'farebox_http_request_duration_seconds',
      help: 'From the first byte of a request to the end of its answer, by route and status',
      labelNames: ['method', 'route', 'status'],
      buckets: LATENCY_BUCKETS,
      registers,
    }),
    requestsInFlight: new Gauge({
      name: 'farebox_http_requests_in_flight',
      help: 'Requests that are being served',
      registers,
    }),
    connections: new Gauge({ name: 'farebox_http_connections', help: 'Open client connections', registers }),
    connectionsRefused: new Counter({
      name: 'farebox_http_connections_refused_total',
      help: 'Connections that were closed at once because their address had too many',
      registers,
    }),
    uncaught: new Counter({
      name: 'farebox_uncaught_errors_total',
      help: 'Errors that nothing had caught; each one is a mistake in the program',
      registers,
    }),
  };
}
