/** The registry that Prometheus reads from a process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { API_COUNTERS, WORKER_COUNTERS } from './counters.ts';

export interface Metrics {
  registry: Registry;
  requests: Histogram<'method' | 'route' | 'status'>;
  added: Histogram<'route'>;
  requestsInFlight: Gauge;
  connections: Gauge;
  connectionsRefused: Counter;
  uncaught: Counter;
}

const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Finer at the low end: the goal is half a millisecond. */
const ADDED_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];

/** Includes metrics of the process: memory, CPU, garbage collection, event-loop lag. */
function createRegistry(service: string, counters: readonly unknown[]): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  // Counters differ in their label names, so the list has no type that the library accepts.
  for (const counter of counters) registry.registerMetric(counter as Metric);
  return registry;
}

export function createWorkerRegistry(): Registry {
  return createRegistry('worker', WORKER_COUNTERS);
}

export function createMetrics(service: string): Metrics {
  const registry = createRegistry(service, API_COUNTERS);
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
    added: new Histogram({
      name: 'farebox_http_added_seconds',
      help: 'What we add to a request: until its answer begins, without waiting for its body or for an upstream',
      labelNames: ['route'],
      buckets: ADDED_BUCKETS,
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
