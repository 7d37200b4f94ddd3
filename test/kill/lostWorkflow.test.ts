/** A charge whose workflow the server lost before anybody heard of it: who repeats the order gets what was paid for. */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { awaitJob, completeJob, type JobOrder, order, queueJob } from '../harness/jobDriver.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import { until } from '../harness/until.ts';
import { auditJob } from './audit.ts';
import { type KillWorld, openKillWorld } from './killWorld.ts';
import { killConfig } from './models.ts';

it('is made after the order was repeated with its key, and not charged again', async () => {
  const world = await openKillWorld(killConfig());
  try {
    const payer = await world.createPayer();
    const client = { baseUrl: () => world.baseUrl, secret: payer.secret };
    const wanted: JobOrder = {
      ...{ kind: 'audio', model: modelId('music'), fields: { prompt: 'A tram at dawn' } },
      idempotencyKey: randomUUID(),
    };
    world.worker.arm('commit-lost:kill');
    const unheard = order(client, wanted).catch(() => undefined);
    await world.worker.death();
    await world.api.kill();
    await unheard;
    const { rows } = await world.pool.query<{ id: string }>('select queue_id as id from jobs');
    await lose(world, rows[0]?.id ?? '');
    await Promise.all([world.api.respawn(), world.worker.respawn()]);
    const again = await queueJob(client, wanted);
    if (again.ended !== 'accepted') throw new Error(`refused: ${again.error}`);
    expect(rows).toEqual([{ id: again.queueId }]);
    const job = { kind: 'audio', model: wanted.model, queueId: again.queueId } as const;
    const { ended: end } = await awaitJob(client, job);
    await completeJob(client, job);
    await auditJob(world, { payer, client, result: { ...job, end } });
    expect(end).toBe('delivered');
  } finally {
    await world.close();
  }
}, 180_000);

async function lose({ temporal, environment }: KillWorld, workflowId: string): Promise<void> {
  const { workflowService, workflow } = temporal.client;
  const namespace = environment.TEMPORAL_NAMESPACE ?? '';
  await workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
  const isGone = async () => {
    try {
      await workflow.getHandle(workflowId).describe();
      return false;
    } catch (error) {
      return error instanceof WorkflowNotFoundError;
    }
  };
  await until('the workflow is lost', isGone, 60_000);
}
