/** Worker versions that start and stop, with real processes: jobs always go to a version that some worker runs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTemporal, type Temporal } from '../../infra/temporal/connect.ts';
import { DEPLOYMENT_NAME, makeCurrent } from '../../workers/deployment.ts';
import { type DeploymentTakeover, openDeploymentTakeover } from '../../workers/deploymentTakeover.ts';
import { UPKEEP_WORKFLOW, type UpkeepWorkflow } from '../../workflows/contract.ts';
import { createWorld, type Spawned, spawnWorker } from '../harness/services.ts';
import { until } from '../harness/until.ts';

const OLD = 'release-1';
const NEW = 'release-2';
const NEWEST = 'release-3';
const PATIENCE = 3;
const WORK_LIMIT_MS = 240_000;
const TEST_LIMIT_MS = 600_000;

let environment: Record<string, string>;
let namespace: string;
let temporal: Temporal;
let works = 0;
const running = new Set<Spawned>();

beforeAll(async () => {
  ({ environment } = await createWorld());
  namespace = environment.TEMPORAL_NAMESPACE ?? '';
  temporal = openTemporal({ address: environment.TEMPORAL_ADDRESS ?? '', namespace });
});

afterAll(async () => {
  await Promise.all([...running].map((worker) => worker.stop()));
  await temporal?.close();
});

/** Resolves with a worker once its version is the current one. */
async function start(buildId: string): Promise<Spawned> {
  const worker = await spawnWorker({ environment: { ...environment, FAREBOX_BUILD_ID: buildId } });
  running.add(worker);
  const isCurrent = async () => (await current().catch(() => undefined)) === buildId;
  await until(`${buildId} is the current version`, isCurrent, WORK_LIMIT_MS);
  return worker;
}

async function end(worker: Spawned, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  worker.kill(signal);
  await worker.exit;
  running.delete(worker);
}

async function current(): Promise<string | undefined> {
  const { workerDeploymentInfo } = await temporal.client.workflowService.describeWorkerDeployment({
    namespace,
    deploymentName: DEPLOYMENT_NAME,
  });
  return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined;
}

/** Resolves when a worker of the current version completed a workflow. Returns the versions that took part. */
async function work(): Promise<string[]> {
  works += 1;
  const handle = await temporal.client.workflow.start<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
    ...{ workflowId: `work-${works}`, taskQueue: 'jobs', args: ['expireHolds'] },
    workflowExecutionTimeout: WORK_LIMIT_MS,
  });
  await handle.result();
  const { events } = await handle.fetchHistory();
  const versions = (events ?? []).flatMap(
    ({ workflowTaskCompletedEventAttributes: done }) => done?.deploymentVersion?.buildId ?? [],
  );
  return [...new Set(versions)];
}

const takeover = (buildId: string) => openDeploymentTakeover(temporal, { namespace, buildId, patience: PATIENCE });

/** Both sides attempt a takeover at the same time. Returns how many took over. */
async function lookBoth(sides: readonly DeploymentTakeover[]): Promise<number> {
  const looks = await Promise.allSettled(sides.map((side) => side.attempt()));
  return looks.filter((look) => look.status === 'fulfilled' && look.value).length;
}

/** Attempts more takeovers than a version needs to count as gone, and runs a workflow after each. */
async function expectPeace(sides: readonly DeploymentTakeover[], version: string): Promise<void> {
  for (let looks = 0; looks < 2 * PATIENCE; looks += 1) {
    expect(await lookBoth(sides)).toBe(0);
    expect(await work()).toEqual([version]);
  }
  expect(await current()).toBe(version);
}

test(
  'the new version takes over the jobs of an old version that came back and was stopped',
  async () => {
    const old = await start(OLD);
    expect(await work()).toEqual([OLD]);
    await start(NEW);
    expect(await work()).toEqual([NEW]);
    await end(old, 'SIGKILL');
    const back = await start(OLD);
    expect(await work()).toEqual([OLD]);
    await end(back, 'SIGTERM');

    const waiting = work();
    expect(await current()).toBe(OLD);
    const side = takeover(NEW);
    await until('the new version takes over', () => side.attempt().catch(() => false), WORK_LIMIT_MS);
    expect(await current()).toBe(NEW);
    expect(await waiting).toEqual([NEW]);
  },
  TEST_LIMIT_MS,
);

test(
  'the version that was made current last stays current while both versions run',
  async () => {
    const old = await start(OLD);
    const sides = [takeover(OLD), takeover(NEW)];
    await expectPeace(sides, OLD);
    await makeCurrent(temporal.client, namespace, NEW);
    await expectPeace(sides, NEW);
    await end(old, 'SIGTERM');
  },
  TEST_LIMIT_MS,
);

test(
  'exactly one of two versions takes over from a third that is gone, and stays current',
  async () => {
    await start(OLD);
    await end(await start(NEWEST), 'SIGKILL');
    const sides = [takeover(OLD), takeover(NEW)];
    let takers = 0;
    const someoneTook = async () => {
      takers = await lookBoth(sides);
      return takers > 0;
    };
    await until('one of them takes over', someoneTook, WORK_LIMIT_MS);
    expect(takers).toBe(1);
    const taker = await current();
    expect([OLD, NEW]).toContain(taker);
    await expectPeace(sides, taker ?? '');
  },
  TEST_LIMIT_MS,
);
