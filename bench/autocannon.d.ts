/** Types for the part of autocannon that the benchmarks use. The package ships none. */
declare module 'autocannon' {
  interface Options {
    url: string;
    method?: 'GET' | 'POST';
    headers?: Record<string, string>;
    body?: string;
    connections: number;
    /** In seconds. */
    duration?: number;
    /** Number of requests, instead of `duration`. */
    amount?: number;
  }
  interface Result {
    requests: { average: number; total: number };
    /** In milliseconds. */
    latency: { p50: number; p99: number };
    non2xx: number;
    '4xx': number;
    '5xx': number;
    errors: number;
    timeouts: number;
  }
  function autocannon(options: Options): Promise<Result>;
  namespace autocannon {
    export type { Options, Result };
  }
  export = autocannon;
}
