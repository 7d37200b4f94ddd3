/** Runs workers of several versions on the same queues and replaces them by SIGTERM, as an operator does. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { DEPLOYMENT_NAME } from '../../workers/deployment.ts';
import { until } from '../harness/until.ts';
import type { KillWorld, Part } from './killWorld.ts';

/** One failpoint per state of a job: acceptance, submission, polling, storage. */
const STATES = ['commit-lost', 'provider-submitted', 'polled', 'output-half'] as const;
/** Pause at each failpoint. SIGTERM meanwhile leaves the rest of the step to do. */
const HELD_MS = 2_000;
/** Stop grace of docker-compose.yml, after which the process would be killed. */
const GRACE_MS = 45_000;
const READY_LIMIT_MS = 180_000;
const OCCUPY_LIMIT_MS = 180_000;
const ONE_MORE_MS = 1_000;

/** Orders that keep workers busy. */
export interface Orders {
  /** Places several orders and resolves when the first is accepted. */
  wave(): Promise<void>;
  oneMore(): void;
}

export interface Fleet {
  /** Starts `count` workers of a version. Resolves when it is the current one. */
  start(version: string, count: number): Promise<Part[]>;
  /** Gives these workers a job in each state, held for `HELD_MS`. */
  occupy(workers: readonly Part[], orders: Orders): Promise<void>;
  /** Sends SIGTERM. Each must end by itself within the grace and leave no file. */
  retire(workers: readonly Part[]): Promise<void>;
  /** Milliseconds from SIGTERM to the end, per retired worker. */
  endedAfterMs: readonly number[];
  /** Unix ms of each SIGTERM. */
  toldAt: readonly number[];
  killAll(): Promise<void>;
}

export function openFleet(world: KillWorld): Fleet {
  const running = new Set<Part>([world.worker]);
  const endedAfterMs: number[] = [];
  const toldAt: number[] = [];

  async function retireOne(worker: Part): Promise<void> {
    const at = Date.now();
    toldAt.push(at);
    worker.signal('SIGTERM');
    const end = await inGrace(worker);
    endedAfterMs.push(Date.now() - at);
    running.delete(worker);
    expect({ ...end, log: lastWord(worker) }).toEqual({ code: 0, signal: null, log: 'worker stopped' });
    expect(filesOf(world, worker)).toEqual([]);
  }

  return {
    endedAfterMs,
    toldAt,
    async start(version, count) {
      const variables = { FAREBOX_BUILD_ID: version };
      const started = await Promise.all(Array.from({ length: count }, () => world.openWorker(variables)));
      for (const worker of started) running.add(worker);
      // The server may not find the deployment while it changes versions, so this repeats.
      const isCurrent = async () => (await currentVersion(world).catch(() => undefined)) === version;
      await until(`${version} is the current version`, isCurrent, READY_LIMIT_MS);
      return started;
    },
    async occupy(workers, orders) {
      for (const worker of workers) worker.arm(STATES.map(held).join(','));
      await orders.wave();
      const all = () => STATES.every((state) => workers.some((worker) => worker.hasFired(held(state))));
      // Workers get jobs at random. Adds orders until these have one in each state.
      const more = setInterval(orders.oneMore, ONE_MORE_MS);
      try {
        await until('the workers have a job in each state', all, OCCUPY_LIMIT_MS);
      } finally {
        clearInterval(more);
      }
    },
    async retire(workers) {
      await Promise.all(workers.map(retireOne));
    },
    async killAll() {
      await Promise.all([...running].map((worker) => worker.kill()));
    },
  };
}

function held(state: (typeof STATES)[number]): string {
  return `${state}:pause:1:${HELD_MS}`;
}

async function inGrace(worker: Part): Promise<object> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<object>((resolve) => {
    timer = setTimeout(() => resolve({ late: true }), GRACE_MS);
  });
  const end = await Promise.race([worker.death(), late]);
  clearTimeout(timer);
  return end;
}

function lastWord(worker: Part): unknown {
  const lines = worker.logs().trim().split('\n');
  return lines.some((line) => line.includes('"worker stopped"')) ? 'worker stopped' : lines.slice(-5);
}

/** Names of temporary folders contain the process id. */
function filesOf({ environment }: KillWorld, worker: Part): string[] {
  const names = readdirSync(path.join(environment.FAREBOX_DATA ?? '', 'tmp'));
  return names.filter((name) => name.includes(`.${worker.pid()}.`));
}

/** Version on which new jobs begin and running jobs continue. */
async function currentVersion({ temporal, environment }: KillWorld): Promise<string | undefined> {
  const { workerDeploymentInfo } = await temporal.client.workflowService.describeWorkerDeployment({
    namespace: environment.TEMPORAL_NAMESPACE ?? '',
    deploymentName: DEPLOYMENT_NAME,
  });
  return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined;
}
