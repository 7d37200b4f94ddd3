/** Usual execution time of a model: P80 of the last ones, read at most once in some seconds (bench `retrieve`). */
import { LRUCache } from 'lru-cache';
import { executionP80Ms } from '../../infra/postgres/jobs.ts';
import type { SqlClient } from '../../infra/postgres/pool.ts';

/** Milliseconds; undefined until there are measured executions. */
export type AverageTimes = (modelId: string) => Promise<number | undefined>;

const LIFE_MS = 15_000;

export function createAverageTimes(sql: SqlClient): AverageTimes {
  const averages = new LRUCache<string, Promise<number | undefined>>({ max: 1_000, ttl: LIFE_MS });
  return async (modelId) => {
    const known = averages.get(modelId);
    if (known) return await known;
    const asked = executionP80Ms(sql, modelId);
    averages.set(modelId, asked);
    try {
      return await asked;
    } catch (error) {
      averages.delete(modelId);
      throw error;
    }
  };
}
