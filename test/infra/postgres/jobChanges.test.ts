import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JobChange, readChanges } from '../../../infra/postgres/jobChanges.ts';
import { type Payer, payer } from '../../api/billing/usageWorld.ts';
import { acceptJob, failJob, progressJob, storeJob, submitJob } from '../../api/jobs/jobsWorld.ts';
import { startApi, type TestApi } from '../../api/startApi.ts';

let api: TestApi;
let who: Payer;
let owner: pg.Client;
beforeAll(async () => {
  api = await startApi();
  who = await payer(api);
  owner = new pg.Client({ connectionString: api.environment.DATABASE_URL });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await api?.stop();
});

const nameOf = (change: JobChange) =>
  change.kind === 'timeline' ? change.event : change.kind === 'state' ? `is ${change.state}` : `${change.progress} %`;

describe('the numbered changes of a job', () => {
  it('are in the order in which they happened', async () => {
    const { sql } = api.opened.dependencies.core;
    const running = await acceptJob(sql, who);
    await submitJob(sql, running);
    await progressJob(sql, running, 30);
    const failed = await acceptJob(sql, who);
    await submitJob(sql, failed);
    await failJob(sql, failed);
    const before = await readChanges(sql, { queueId: failed, after: 0 });
    expect(before.map(nameOf)).toEqual([
      ...['is accepted', 'measured', 'charged', 'is submitted', 'submitted', 'is failed', 'failed', 'refunded'],
    ]);
    await storeJob(sql, running);
    const after = await readChanges(sql, { queueId: running, after: 0 });
    expect(after.map(nameOf)).toEqual([
      ...['is accepted', 'measured', 'charged', 'is submitted', 'submitted', '30 %'],
      ...['is stored', 'acknowledged', 'stored'],
    ]);
    expect(after.map(({ seq }) => seq)).toEqual(after.map((_, index) => index + 1));
  });

  it("cannot be changed or deleted by the services' role", async () => {
    const { sql } = api.opened.dependencies.core;
    await acceptJob(sql, who);
    for (const statement of ['delete from job_changes', `update job_changes set value = 'x'`]) {
      await expect(sql.query(statement)).rejects.toThrow('permission denied');
    }
  });

  it('are rolled back with their step', async () => {
    const { sql } = api.opened.dependencies.core;
    const queueId = await acceptJob(sql, who);
    const count = async () => (await readChanges(sql, { queueId, after: 0 })).length;
    const before = await count();
    await owner.query('begin');
    await owner.query(`update jobs set state = 'submitted' where queue_id = $1`, [queueId]);
    await owner.query('rollback');
    expect(await count()).toBe(before);
    await submitJob(sql, queueId);
    expect((await readChanges(sql, { queueId, after: before })).map(({ seq }) => seq)).toEqual([
      before + 1,
      before + 2,
    ]);
  });
});
