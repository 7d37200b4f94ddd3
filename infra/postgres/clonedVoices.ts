/** Cloned voices, kept for some days, each for its account and model. */
import type { SqlClient } from './pool.ts';

export interface ClonedVoice {
  /** `vv_` and 32 hex characters. */
  id: string;
  accountId: string;
  modelId: string;
  /** Name of the voice at the service. */
  serviceVoice: string;
}

/** Limit per account: each can be created in a minute, and lists stay short. */
export const MAX_VOICES = 1_000;

export async function keepVoice(
  sql: SqlClient,
  { id, accountId, modelId, serviceVoice }: ClonedVoice,
  days: number,
): Promise<void> {
  await sql.query(
    `insert into cloned_voices (id, account_id, model_id, service_voice, expires_at)
     select $1, $2, $3, $4, clock_timestamp() + $5 * interval '1 day'`,
    [id, accountId, modelId, serviceVoice, days],
  );
}

/** Whether the account may have another voice; of two concurrent requests both may be the last. */
export async function hasRoomForVoice(sql: SqlClient, accountId: string): Promise<boolean> {
  const { rows } = await sql.query<{ count: number }>(
    `select count(*)::integer as count from (
       select from cloned_voices where account_id = $1 and expires_at > clock_timestamp() limit $2) as live`,
    [accountId, MAX_VOICES],
  );
  return (rows[0]?.count ?? 0) < MAX_VOICES;
}

/** Limit per account and UTC day: the service is paid for each sample. */
export const MAX_VOICES_PER_DAY = 10;

export type CloningClaim = { isFree: true } | { isFree: false; secondsToNextDay: number };

/** Counts one more of this day, unless it exceeds the limit. */
export async function claimCloning(sql: SqlClient, accountId: string): Promise<CloningClaim> {
  const { rows } = await sql.query<{ claimed: boolean; seconds: number }>(
    `with now as (select (ledger_now() at time zone 'UTC') as at),
     claim as (
       insert into voice_cloning_days as known (account_id, day, cloned) select $1, at::date, 1 from now
       on conflict (account_id) do update
         set day = excluded.day, cloned = case when known.day = excluded.day then known.cloned + 1 else 1 end
         where known.day <> excluded.day or known.cloned < $2
       returning 1)
     select exists (select from claim) as claimed,
       ceil(extract(epoch from at::date + interval '1 day' - at))::integer as seconds from now`,
    [accountId, MAX_VOICES_PER_DAY],
  );
  const [row] = rows;
  return row?.claimed ? { isFree: true } : { isFree: false, secondsToNextDay: Math.max(1, row?.seconds ?? 1) };
}

/** Undefined: unknown, of another account, or expired. */
export async function findVoice(
  sql: SqlClient,
  { id, accountId }: Pick<ClonedVoice, 'id' | 'accountId'>,
): Promise<Pick<ClonedVoice, 'modelId' | 'serviceVoice'> | undefined> {
  const { rows } = await sql.query<Pick<ClonedVoice, 'modelId' | 'serviceVoice'>>(
    `select model_id as "modelId", service_voice as "serviceVoice" from cloned_voices
      where id = $1 and account_id = $2 and expires_at > clock_timestamp()`,
    [id, accountId],
  );
  return rows[0];
}

/** Deletes a page of expired voices; returns their number. */
export async function purgeVoices(sql: SqlClient, limit: number): Promise<number> {
  const { rowCount } = await sql.query(
    `delete from cloned_voices where id in (
       select id from cloned_voices where expires_at <= clock_timestamp() limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
