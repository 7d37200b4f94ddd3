/** What an operator does by hand: the check of the books, and the sweep of the bucket without its long grace. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Temporal } from '../../infra/temporal/connect.ts';
import { UPKEEP_WORKFLOW, type UpkeepWorkflow } from '../../workflows/contract.ts';
import { ROOT } from '../harness/spawn.ts';

/** The number of objects removed. */
export async function sweepOrphans(
  { client }: Temporal,
  { id, graceMs }: { id: string; graceMs: number },
): Promise<number> {
  const { done } = await client.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
    workflowId: `sweep-${id}`,
    taskQueue: 'jobs',
    args: ['sweepObjects', { orphanGraceMs: graceMs }],
  });
  return done;
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
