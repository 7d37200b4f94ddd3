/** The server loses the workflow of a charge before the client got an answer. A repeated order still gets a job. */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GENERATION_WORKFLOW, type GenerationInput } from '../../workflows/contract.ts';
import { awaitJob, completeJob, type JobClient, type JobOrder, order, queueJob } from '../harness/jobDriver.ts';
import { spawnApi } from '../harness/services.ts';
import { severable } from '../harness/severable.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import { until } from '../harness/until.ts';
import { auditJob } from './audit.ts';
import { type KillWorld, openKillWorld } from './killWorld.ts';
import { killConfig } from './models.ts';
import type { Payer } from './payer.ts';

let world: KillWorld;
beforeAll(async () => {
  world = await openKillWorld(killConfig());
});
afterAll(() => world?.close());

interface Unheard {
  payer: Payer;
  client: JobClient;
  wanted: JobOrder;
  /** Id of the charged job. */
  queueId: string;
  input: GenerationInput;
}

/** Charges an order, then removes worker, API and workflow. */
async function loseCharged(): Promise<Unheard> {
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
  const { rows } = await world.pool.query<{ id: string }>('select queue_id as id from jobs where account_id = $1', [
    payer.accountId,
  ]);
  const queueId = rows[0]?.id ?? '';
  const input = await inputOf(queueId);
  await lose(queueId);
  await Promise.all([world.api.respawn(), world.worker.respawn()]);
  return { payer, client, wanted, queueId, input };
}

async function seeThrough({ client, wanted }: Unheard) {
  const again = await queueJob(client, wanted);
  if (again.ended !== 'accepted') throw new Error(`refused: ${again.error}`);
  const job = { kind: 'audio', model: wanted.model, queueId: again.queueId } as const;
  const { ended: end } = await awaitJob(client, job);
  await completeJob(client, job);
  expect(end).toBe('delivered');
  return { ...job, end };
}

describe('a charged order whose client got no answer', () => {
  it('becomes a job when it is repeated with its key, without a second charge', async () => {
    const lost = await loseCharged();
    const result = await seeThrough(lost);
    expect(result.queueId).toBe(lost.queueId);
    await auditJob(world, { ...lost, result });
  }, 600_000);

  it('becomes a new job with one charge when the first charge was refunded meanwhile', async () => {
    const lost = await loseCharged();
    const { queueId, input, payer } = lost;
    const unasked = { ...input, timing: { ...input.timing, acceptMs: 100 } };
    const { workflow } = world.temporal.client;
    const options = { workflowId: queueId, taskQueue: 'jobs', args: [unasked] as [GenerationInput] };
    expect(await workflow.execute(GENERATION_WORKFLOW, options)).toMatchObject({ state: 'refused' });
    const result = await seeThrough(lost);
    expect(result.queueId).not.toBe(queueId);
    const { rows } = await world.pool.query<{ kind: string; operation_id: string }>(
      `select kind, operation_id from transfers where account_id = $1 and kind in ('charge', 'refund') order by created_at`,
      [payer.accountId],
    );
    expect(rows).toEqual([
      { kind: 'charge', operation_id: queueId },
      { kind: 'refund', operation_id: queueId },
      { kind: 'charge', operation_id: result.queueId },
    ]);
    expect(await world.ledgerCheck()).toMatchObject({ code: 0 });
  }, 600_000);
});

it('makes a job of an order that a repetition confirmed while Temporal was away, although no update reaches its workflow', async () => {
  const lost = await loseCharged();
  const { queueId, input, wanted, client } = lost;
  const way = await severable(world.environment.TEMPORAL_ADDRESS ?? '');
  const { PORT: _, ...environment } = world.environment;
  const cutOff = await spawnApi({ environment: { ...environment, TEMPORAL_ADDRESS: way.address } });
  way.sever();
  const told = await queueJob({ ...client, baseUrl: () => cutOff.baseUrl }, wanted);
  expect(told).toMatchObject({ ended: 'accepted', queueId, replayed: true });
  cutOff.kill('SIGKILL');
  way.close();
  const unasked = { ...input, timing: { ...input.timing, acceptMs: 100 } };
  await world.temporal.client.workflow.start(GENERATION_WORKFLOW, {
    ...{ workflowId: queueId, taskQueue: 'jobs', args: [unasked] as [GenerationInput] },
  });
  const job = { kind: 'audio', model: wanted.model, queueId } as const;
  const { ended: end } = await awaitJob(client, job);
  await completeJob(client, job);
  expect(end).toBe('delivered');
  await auditJob(world, { ...lost, result: { ...job, end } });
}, 600_000);

async function inputOf(workflowId: string): Promise<GenerationInput> {
  const { events } = await world.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (!payload) throw new Error('no order in the history');
  return defaultPayloadConverter.fromPayload(payload);
}

async function lose(workflowId: string): Promise<void> {
  const { temporal, environment } = world;
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
  await until('the workflow is lost', isGone);
}
