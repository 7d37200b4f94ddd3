/** Fills the characters table at the first question; a part that is missing then is asked again at the next. */
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
