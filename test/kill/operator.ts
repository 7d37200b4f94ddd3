/** Manual operator actions: the ledger check, and a sweep of the bucket with a short grace. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Storage } from '../../infra/s3/storage.ts';
import type { Temporal } from '../../infra/temporal/connect.ts';
import { UPKEEP_WORKFLOW, type UpkeepWorkflow } from '../../workflows/contract.ts';
import { ROOT } from '../harness/spawn.ts';
import { until } from '../harness/until.ts';

/** Removes every present orphan once `graceMs` have passed. Returns the number of removed objects. */
export async function sweepOrphans(
  { temporal, storage }: { temporal: Temporal; storage: Storage },
  { id, graceMs }: { id: string; graceMs: number },
): Promise<number> {
  await untilStoreSays(storage, Date.now() + graceMs);
  const { done } = await temporal.client.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
    workflowId: `sweep-${id}`,
    taskQueue: 'jobs',
    args: ['sweepObjects', { orphanGraceMs: graceMs }],
  });
  return done;
}

/** The store reports whole seconds of a clock that it may read once a second, so this can take two seconds. */
async function untilStoreSays(storage: Storage, wanted: number): Promise<void> {
  await until(
    'the clock of the store goes on',
    async () => (await storage.list('no-such-prefix/')).at.getTime() > wanted,
    60_000,
  );
}

const execute = promisify(execFile);

/** Runs the real command in its own process. */
export async function ledgerCheck(databaseUrl: string): Promise<{ code: number; text: string }> {
  try {
    const script = path.join(ROOT, 'dist/cli/main.js');
    const { stdout } = await execute(process.execPath, [script, 'ledger', 'check'], {
      env: { DATABASE_URL: databaseUrl },
      timeout: 300_000,
    });
    return { code: 0, text: stdout };
  } catch (error) {
    const failed = error as { code?: number; stdout?: string; stderr?: string };
    return { code: failed.code ?? -1, text: `${failed.stdout ?? ''}${failed.stderr ?? ''}` };
  }
}
