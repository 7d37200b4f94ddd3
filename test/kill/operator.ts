/** What an operator does by hand: the check of the books, and the sweep of the bucket without its long grace. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Storage } from '../../infra/s3/storage.ts';
import type { Temporal } from '../../infra/temporal/connect.ts';
import { UPKEEP_WORKFLOW, type UpkeepWorkflow } from '../../workflows/contract.ts';
import { ROOT } from '../harness/spawn.ts';
import { until } from '../harness/until.ts';

/** Takes every orphan that is there now, for all the grace of the sweep itself: the number of objects removed. */
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

/** The store tells whole seconds, of a clock that it may look at once a second: two of ours may pass before it says so. */
async function untilStoreSays(storage: Storage, wanted: number): Promise<void> {
  await until(
    'the clock of the store goes on',
    async () => (await storage.list('no-such-prefix/')).at.getTime() > wanted,
    10_000,
  );
}

const execute = promisify(execFile);

/** The real command, in a process of its own. */
export async function ledgerCheck(databaseUrl: string): Promise<{ code: number; text: string }> {
  try {
    const script = path.join(ROOT, 'dist/cli/main.js');
    const { stdout } = await execute(process.execPath, [script, 'ledger', 'check'], {
      env: { DATABASE_URL: databaseUrl },
      timeout: 60_000,
    });
    return { code: 0, text: stdout };
  } catch (error) {
    const failed = error as { code?: number; stdout?: string; stderr?: string };
    return { code: failed.code ?? -1, text: `${failed.stdout ?? ''}${failed.stderr ?? ''}` };
  }
}
