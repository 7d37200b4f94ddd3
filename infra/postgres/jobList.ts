/** Lists the jobs of an account with filters, by pages. */
import { JOB_KINDS, JOB_STATES } from '../../domain/jobs.ts';
import { JOB_COLUMNS, type JobRow, type RawJob, toJob } from './jobs.ts';
import type { SqlClient } from './pool.ts';

export interface JobPlace {
  createdAt: Date;
  queueId: string;
}

export interface JobFilters {
  /** Undefined: no filter. */
  kinds?: readonly string[] | undefined;
  models?: readonly string[] | undefined;
  states?: readonly string[] | undefined;
  /** Both exclusive. */
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  order: 'asc' | 'desc';
}

export interface JobPage extends JobFilters {
  accountId: string;
  /** Only the jobs of this key and of its children; null: all of the account. */
  visibleTo: string | null;
  limit: number;
  /** Last job of the previous page. */
  from?: JobPlace | undefined;
}

const MIN_ID = '00000000-0000-0000-0000-000000000000';
const MAX_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * For each combination of filters reads the first rows from an index in this order, and takes the first of all: the
 * cost is the same for an account with a million jobs.
 */
export async function listJobsBy(sql: SqlClient, page: JobPage): Promise<JobRow[]> {
  const { order, from, visibleTo } = page;
  const all = visibleTo === null ? 'all' : 'keys';
  const named = page.models ? 'models' : page.kinds || page.states ? 'kinds' : all;
  const { rows } = await sql.query<RawJob>({
    name: `list-jobs-${named}-${order}`,
    text: TEXTS[named](order),
    values: [
      page.accountId,
      page.createdAfter ?? '-infinity',
      page.createdBefore ?? 'infinity',
      from?.createdAt ?? (order === 'asc' ? '-infinity' : 'infinity'),
      from?.queueId ?? (order === 'asc' ? MIN_ID : MAX_ID),
      page.limit,
      ...(named === 'all' ? [] : [visibleTo]),
      ...(named === 'all' || named === 'keys' ? [] : [page.kinds ?? JOB_KINDS, page.states ?? JOB_STATES]),
      ...(named === 'models' ? [page.models] : []),
    ],
  });
  return rows.map(toJob);
}

const KEYS = 'select id from api_keys where id = $7::uuid or parent_id = $7';
const COMBINATIONS = 'unnest($8::text[]) as k (kind) cross join unnest($9::text[]) as s (state)';
/** Both indexes have the key: rows of other keys are skipped without being read. */
const SAME = `and kind = k.kind and state = s.state and ($7::uuid is null or key_id = any (array(${KEYS})))`;

const TEXTS: Record<'all' | 'keys' | 'kinds' | 'models', (order: 'asc' | 'desc') => string> = {
  all: (order) => whole(places('', order), order),
  keys: (order) => whole(`(${KEYS}) as k cross join lateral (${places('and key_id = k.id', order)}) as place`, order),
  kinds: (order) => whole(`${COMBINATIONS} cross join lateral (${places(SAME, order)}) as place`, order),
  models: (order) =>
    whole(
      `${COMBINATIONS} cross join unnest($10::text[]) as m (model_id)
       cross join lateral (${places(`${SAME} and model_id = m.model_id`, order)}) as place`,
      order,
    ),
};

/** Rows from one range of one index. */
function places(conditions: string, order: 'asc' | 'desc'): string {
  const beyond = order === 'asc' ? '>' : '<';
  return `select created_at, queue_id from jobs
    where account_id = $1 ${conditions} and created_at > $2::timestamptz and created_at < $3::timestamptz
      and (created_at, queue_id) ${beyond} ($4::timestamptz, $5::uuid)
    order by created_at ${order}, queue_id ${order} limit $6`;
}

function whole(found: string, order: 'asc' | 'desc'): string {
  const from = found.startsWith('select') ? `(${found}) as place` : found;
  return `select ${JOB_COLUMNS} from jobs
    where queue_id = any (array(
      select queue_id from ${from} order by place.created_at ${order}, place.queue_id ${order} limit $6))
    order by created_at ${order}, queue_id ${order}`;
}
