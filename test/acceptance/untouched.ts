/** What a refused request must not change: money, jobs, storage, disk, and how fast everybody else is served. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { apiClient } from './client.ts';
import { type Deployment, eventually } from './deployment.ts';

export async function expectUntouched(farebox: Deployment, transfersBefore: number): Promise<void> {
  expect(await farebox.transfers(), 'transfers').toBe(transfersBefore);
  expect(await farebox.objects(), 'objects').toEqual([]);
  expect(farebox.temporaryFiles(), 'files').toEqual([]);
  // A workflow that answered is closed by its next task.
  const closed = async () => ((await farebox.openWorkflows()).length === 0 ? true : undefined);
  await eventually(closed, 10_000);
}

export interface Stall {
  /** The longest pause of the API's event loop since the last reading. */
  longestMs: number;
  /** For how long its main thread was ready to run in all, while the cores were busy with other processes. */
  waitedMs: number;
}

/** A meter of the API's event loop; each reading begins a new period. */
export function stallMeter(farebox: Deployment): () => Promise<Stall> {
  let waitedBefore = waitedMs(farebox.api.pid);
  return async () => {
    const text = await (await fetch(`${farebox.origin}/metrics`)).text();
    const seconds = /^nodejs_eventloop_lag_max_seconds(?:\{[^}]*\})? ([\d.e+-]+)/m.exec(text)?.[1];
    if (seconds === undefined) throw new Error('the metrics do not tell the event-loop lag');
    const waited = waitedMs(farebox.api.pid);
    const stall = { longestMs: Number(seconds) * 1_000, waitedMs: waited - waitedBefore };
    waitedBefore = waited;
    return stall;
  };
}

/** From the kernel's accounting; zero where there is none, so that a busy machine then counts as a slow program. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

export interface Bystander {
  /** Stops asking; every latency in milliseconds. */
  stop(): Promise<number[]>;
}

/** Another client, who asks for its balance twenty times a second and must not notice anything. */
export function startBystander(farebox: Deployment): Bystander {
  const { get } = apiClient(farebox.baseUrl, farebox.other.adminKey);
  const latencies: number[] = [];
  let stopped = false;
  const asking = (async () => {
    while (!stopped) {
      const startedAt = performance.now();
      const { status } = await get('/billing/balance');
      expect(status).toBe(200);
      latencies.push(performance.now() - startedAt);
      await sleep(50);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await asking;
      return latencies;
    },
  };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
