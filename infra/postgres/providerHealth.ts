/** The circuit of a provider, shared by all processes. Its policy is in the functions of infra/postgres/functions/providers/. */
import type { SqlClient } from './pool.ts';

/** Records that a provider did not answer or refuses everybody. Returns the pause in ms if this opened the circuit. */
export async function recordProviderFailure(sql: SqlClient, provider: string): Promise<number | undefined> {
  const { rows } = await sql.query<{ pause_ms: number | null }>({
    name: 'provider-down',
    text: 'select note_provider_down($1) as pause_ms',
    values: [provider],
  });
  return rows[0]?.pause_ms ?? undefined;
}

/** Records any answer of a provider. Returns true when this closed the circuit. */
export async function recordProviderSuccess(sql: SqlClient, provider: string): Promise<boolean> {
  const { rows } = await sql.query<{ closed: boolean }>({
    name: 'provider-up',
    text: 'select note_provider_up($1) as closed',
    values: [provider],
  });
  return rows[0]?.closed === true;
}

export interface OpenCircuits {
  /** How long the circuit of this provider stays open; undefined when it is closed, or half open. */
  restsMs(provider: string): Promise<number | undefined>;
}

const READ_EVERY_MS = 1_000;

/** Reads open circuits at most once a second, however often it is called (bench `jobs`). */
export function watchCircuits(sql: SqlClient, now: () => number = () => performance.now()): OpenCircuits {
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<ReadonlyMap<string, number>> | undefined;
  return {
    async restsMs(provider) {
      if (reading === undefined || now() - readAt >= READ_EVERY_MS) {
        readAt = now();
        reading = readOpen(sql);
      }
      const read = reading;
      try {
        const restsMs = ((await read).get(provider) ?? 0) - (now() - readAt);
        return restsMs > 0 ? restsMs : undefined;
      } catch (error) {
        if (reading === read) reading = undefined;
        throw error;
      }
    },
  };
}

async function readOpen(sql: SqlClient): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql.query<{ provider: string; rests_ms: number }>({
    name: 'open-circuits',
    text: `select provider, (extract(epoch from open_until - clock_timestamp()) * 1000)::float8 as rests_ms
             from provider_health where open_until > clock_timestamp()`,
  });
  return new Map(rows.map((row) => [row.provider, row.rests_ms]));
}
