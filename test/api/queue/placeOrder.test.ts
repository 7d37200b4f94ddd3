/** Time limit for the acceptance of an order. */
import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../../api/http/answer.ts';
import { ACCEPT_LIMIT_MS } from '../../../api/queue/generationClient.ts';
import { type JobOrder, jobOf, placeOrder } from '../../../api/queue/placeOrder.ts';
import { loadConfig } from '../../../infra/config/config.ts';
import { PROVIDERS } from '../../../providers/registry.ts';
import type { GenerationInput } from '../../../workflows/contract.ts';
import { COMPLETE } from '../../config/environments.ts';
import { createLedgerWorld, type LedgerWorld } from '../../infra/postgres/ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

it('applies one time limit to both attempts of an order whose first workflow had ended long ago', async () => {
  const config = loadConfig(PROVIDERS, COMPLETE);
  const [model] = config.models;
  if (!model) throw new Error('no model');
  let now = 1_000_000;
  const waits: number[] = [];
  const dependencies = {
    core: { config, sql: world.pool, clock: { now: () => now } },
    jobs: {
      circuits: { restsMs: async () => undefined },
      temporal: {
        within: async (timeoutMs: number) => {
          waits.push(timeoutMs);
          now += ACCEPT_LIMIT_MS / 2;
          if (waits.length === 1) throw new WorkflowExecutionAlreadyStartedError('ended', 'id', 'type');
          return { accepted: false, code: 'invalid_request', message: 'No.' };
        },
      },
    },
  } as unknown as Parameters<typeof placeOrder>[0];
  const caller = { accountId: randomUUID(), keyId: null };
  const ordering = { caller, headers: {}, requestId: 'request' } as unknown as Parameters<typeof placeOrder>[1];
  const order: JobOrder = {
    ...{ route: '/test', body: {}, answer: () => json({}) },
    inputOf: (queueId) => jobOf(dependencies, ordering, { model, queueId }) as unknown as GenerationInput,
    parts: { together: false, put: async () => undefined, remove: async () => undefined },
  };
  await expect(placeOrder(dependencies, ordering, order)).rejects.toMatchObject({ message: 'No.' });
  expect(waits).toEqual([ACCEPT_LIMIT_MS, ACCEPT_LIMIT_MS / 2]);
});
