/** Fills the characters table on first use; if a part is down then, the next use tries again. */
import type pg from 'pg';
import type { Config } from '../../infra/config/config.ts';
import { loadCharacters } from '../../infra/postgres/characters.ts';

export function charactersLoader(sql: pg.Pool, config: Config): () => Promise<void> {
  let loading: Promise<unknown> | undefined;
  return async () => {
    loading ??= loadCharacters(sql, config.characters).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    await loading;
  };
}
