import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { registerSearchAttributes } from '../../infra/temporal/searchAttributes.ts';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.ts';

/** So long the server may be too busy for it. */
const LIMIT_MS = 120_000;

/** A Temporal namespace of a test's own, with the search attributes, so that no two tests share a task queue. */
export async function registerNamespace(address: string): Promise<string> {
  for (const deadline = Date.now() + LIMIT_MS; ; ) {
    try {
      return await registerOnce(address);
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}

async function registerOnce(address: string): Promise<string> {
  const namespace = `test-${randomUUID().slice(0, 13)}`;
  const connection = await Connection.connect({ address });
  try {
    const workflowExecutionRetentionPeriod = msToTs('1 day');
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  } finally {
    await connection.close();
  }
  const names = Object.values(SEARCH_ATTRIBUTES);
  const typeOf = (name: string) => (name === SEARCH_ATTRIBUTES.costUsd ? 'Double' : 'Keyword');
  await registerSearchAttributes({ address, namespace }, Object.fromEntries(names.map((name) => [name, typeOf(name)])));
  return namespace;
}
