import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Payer, payer } from '../billing/usageWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { acceptJob, failJob, storeJob, submitJob } from './jobsWorld.ts';

interface Shown {
  queue_id: string;
  kind: string;
  model: string;
  state: string;
  created_at: string;
  progress: number | null;
  charged: object[];
  refunded: object[];
}

let api: TestApi;
let who: Payer;
let all: Shown[];

const KINDS = [
  { kind: 'voice-changer', modelId: 'quick' },
  { kind: 'audio', modelId: 'song' },
  { kind: 'video', modelId: 'film' },
];

beforeAll(async () => {
  api = await startApi();
  const { sql } = api.opened.dependencies.core;
  who = await payer(api);
  for (let turn = 0; turn < 24; turn += 1) {
    const queueId = await acceptJob(sql, who, KINDS[turn % 3]);
    const end = Math.floor(turn / 3) % 4;
    if (end > 0) await submitJob(sql, queueId);
    if (end === 2) await storeJob(sql, queueId);
    if (end === 3) await failJob(sql, queueId);
  }
  await acceptJob(sql, await payer(api), KINDS[0]);
  all = (await list('?limit=100')).data;
});
afterAll(() => api?.stop());

async function list(query: string): Promise<{ data: Shown[]; next_cursor: string | null }> {
  const response = await api.call(`/jobs${query}`, { key: who.secret });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { data: Shown[]; next_cursor: string | null };
}

async function walk(filters: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await list(`?limit=3${filters}${cursor}`);
    expect(page.data.length).toBeLessThanOrEqual(3);
    ids.push(...page.data.map(({ queue_id }) => queue_id));
    if (page.next_cursor === null) return ids;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

describe('GET /jobs', () => {
  it('shows the account its own jobs, newest first, each with its charge and refund', () => {
    expect(all).toHaveLength(24);
    expect(all.map(({ created_at }) => created_at)).toEqual(
      all
        .map(({ created_at }) => created_at)
        .sort()
        .reverse(),
    );
    const amounts = [{ currency: 'USD', amount: 0.05 }];
    for (const { state, charged, refunded } of all) {
      expect([charged, refunded]).toEqual([amounts, state === 'failed' ? amounts : []]);
    }
  });

  it.each<[string, (job: Shown) => boolean]>([
    ['&kind=audio', ({ kind }) => kind === 'audio'],
    ['&kind=audio,video', ({ kind }) => kind !== 'voice-changer'],
    ['&kind=audio&kind=video', ({ kind }) => kind !== 'voice-changer'],
    ['&model=film', ({ model }) => model === 'film'],
    ['&model=film,song', ({ model }) => model !== 'quick'],
    ['&model=nothing', () => false],
    ['&model=film&kind=audio', () => false],
    ['&state=stored', ({ state }) => state === 'stored'],
    ['&state=stored,failed', ({ state }) => state === 'stored' || state === 'failed'],
    ['&state=accepted&state=submitted', ({ state }) => state === 'accepted' || state === 'submitted'],
    ['&state=deleted', () => false],
    ['&kind=video&state=failed', ({ kind, state }) => kind === 'video' && state === 'failed'],
    ['&model=song&state=failed,stored', ({ model, state }) => model === 'song' && /failed|stored/.test(state)],
    ['&created_after=2000-01-01', () => true],
    ['&created_before=2000-01-01T00:00:00Z', () => false],
    ['&created_after=2000-01-01T00:00:00%2B02:00&state=stored', ({ state }) => state === 'stored'],
  ])('%s lists exactly the matching jobs, page by page, in both orders', async (filters, meant) => {
    const expected = all.filter(meant).map(({ queue_id }) => queue_id);
    expect(await walk(filters)).toEqual(expected);
    expect(await walk(`${filters}&order=desc`)).toEqual(expected);
    expect(await walk(`${filters}&order=asc`)).toEqual([...expected].reverse());
  });

  it('excludes the moments of created_after and created_before', async () => {
    const [from, to] = [all.at(-3)?.created_at ?? '', all.at(2)?.created_at ?? ''];
    const between = all.filter(({ created_at }) => created_at > from && created_at < to);
    expect(await walk(`&created_after=${from}&created_before=${to}`)).toEqual(between.map(({ queue_id }) => queue_id));
  });

  it('continues a cursor with its own filters alone, however they are written', async () => {
    const { next_cursor: cursor } = await list('?limit=3&state=stored,failed');
    expect((await list(`?limit=2&state=failed&state=stored&cursor=${cursor}`)).data).toHaveLength(2);
    for (const filters of ['', '&state=stored', '&state=stored,failed&order=asc', '&state=stored,failed&kind=audio']) {
      const response = await api.call(`/jobs?limit=3${filters}&cursor=${cursor}`, { key: who.secret });
      expect([response.status, await response.json()]).toMatchObject([400, { details: { cursor: {} } }]);
    }
  });

  it.each([
    ['kind=cinema', 'kind'],
    ['kind=', 'kind'],
    ['kind=audio,audio,audio,audio', 'kind'],
    ['state=running', 'state'],
    ['state=stored,', 'state'],
    ['model=', 'model'],
    [`model=${'x'.repeat(201)}`, 'model'],
    [`model=${Array.from({ length: 11 }, (_, index) => `m${index}`).join(',')}`, 'model'],
    ['created_after=yesterday', 'created_after'],
    ['created_after=2026-02-30', 'created_after'],
    ['created_before=1e9', 'created_before'],
    ['created_after=2026-01-01&created_after=2026-01-02', 'created_after'],
    ['created_after=2026-01-02&created_before=2026-01-01', 'created_before'],
    ['created_after=2026-01-01&created_before=2026-01-01', 'created_before'],
    ['order=up', 'order'],
    ['order=asc&order=desc', 'order'],
    ['limit=101', 'limit'],
    ['cursor=AAAA', 'cursor'],
    [`cursor=${'A'.repeat(257)}`, 'cursor'],
    ['cursor=%00', 'cursor'],
  ])('refuses %s with the name of the field', async (query, field) => {
    const response = await api.call(`/jobs?${query}`, { key: who.secret });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { details: object }).details).toHaveProperty(field);
  });

  it.each(['0000-01-01', '9999-12-31T23:59:59.999Z', '0001-01-01T00:00:00+14:00'])(
    'accepts the distant time %s',
    async (time) => {
      const early = time < '1';
      const { data } = await list(`?created_after=${encodeURIComponent(time)}&limit=100`);
      expect(data).toHaveLength(early ? 24 : 0);
    },
  );
});

describe('GET /jobs with 100,000 jobs of the account', () => {
  const MANY = 100_000;
  let rich: Payer;
  let operator: pg.Client;

  beforeAll(async () => {
    rich = await payer(api);
    operator = new pg.Client({ connectionString: api.environment.DATABASE_URL });
    await operator.connect();
    // The triggers write nothing that the lists read.
    await operator.query('alter table jobs disable trigger user');
    await operator.query(
      `insert into jobs (queue_id, account_id, kind, model_id, provider, state, request_id, price_usd_nano,
         charge_operation_id, charge_id, refund_id, output_key, created_at, deadline_at)
       select gen_random_uuid(), $1, case n % 3 when 0 then 'audio' when 1 then 'video' else 'voice-changer' end,
         'model-' || n % 30, 'p', case when n % 1000 = 0 then 'failed' else 'deleted' end, 'r', 1, $2, 'c',
         case when n % 1000 = 0 then 'r' end, 'k', now() - n * interval '1 second', now()
       from generate_series(1, $3::int) n`,
      [rich.accountId, randomUUID(), MANY],
    );
    await operator.query('alter table jobs enable trigger user');
    await operator.query('analyze jobs');
  });
  afterAll(() => operator?.end());

  it.each([
    '',
    '&order=asc',
    '&state=failed',
    '&state=cancelled',
    '&state=failed,cancelled&order=asc',
    '&kind=audio',
    '&kind=audio&state=failed',
    '&model=model-3',
    '&model=model-3&kind=video',
    '&model=nothing',
    '&model=model-0,model-1,model-2,model-3,model-4,model-5,model-6,model-7,model-8,model-9',
    '&model=model-3&state=failed&created_before=2020-01-01',
  ])('reads a page with "%s" from indexes, at a cost that does not grow with the number of jobs', async (filters) => {
    const seen = await planOf(filters);
    expect(seen.scans.filter((scan) => !/Index|Bitmap|Function|Subquery/.test(scan))).toEqual([]);
    expect(seen.buffers).toBeLessThan(4_000);
    expect(seen.rows).toBeLessThan(30_000);
  });

  /** Returns the plan and counts of the statement that the route runs. */
  async function planOf(filters: string): Promise<{ scans: string[]; buffers: number; rows: number }> {
    const { sql } = api.opened.dependencies.core;
    const asked: { text: string; values: unknown[] }[] = [];
    const query = sql.query.bind(sql) as (statement: unknown, ...rest: unknown[]) => unknown;
    const spy = (statement: { text?: string; values?: unknown[] }, ...rest: unknown[]) => {
      if (statement.text?.includes('from jobs')) asked.push(statement as { text: string; values: unknown[] });
      return query(statement, ...rest);
    };
    (sql as unknown as { query: unknown }).query = spy;
    try {
      const response = await api.call(`/jobs?limit=100${filters}`, { key: rich.secret });
      expect(response.status).toBe(200);
    } finally {
      (sql as unknown as { query: unknown }).query = query;
    }
    const statement = asked.find(({ text }) => text.includes('limit $6'));
    if (!statement) throw new Error('the statement of the list was not seen');
    const { rows } = await operator.query(
      `explain (analyze, buffers, format json) ${statement.text}`,
      statement.values,
    );
    const plan = rows[0]['QUERY PLAN'][0].Plan as PlanNode;
    const nodes = nodesOf(plan);
    const scans = nodes.map((node) => node['Node Type']).filter((type) => type.includes('Scan'));
    const read = nodes.map(
      (node) => node['Actual Rows'] * node['Actual Loops'] + (node['Rows Removed by Filter'] ?? 0),
    );
    return {
      scans,
      buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      rows: Math.max(...read),
    };
  }
});

interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
