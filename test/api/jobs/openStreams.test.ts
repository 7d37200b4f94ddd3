/** Costs of open streams of job events, and their end when nothing happens. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appendChanges, createEventState } from '../../../api/jobs/jobEventState.ts';
import { streamJobEvents } from '../../../api/jobs/streamJobEvents.ts';
import { type JobChangeWaiter, WATCHES_PER_ACCOUNT } from '../../../api/queue/jobWatch.ts';
import { createLogger } from '../../../infra/log.ts';
import { type JobChange, readChanges } from '../../../infra/postgres/jobChanges.ts';
import { type Payer, payer } from '../billing/usageWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { acceptJob, type EventStream, openEvents, progressJob, storeJob, submitJob } from './jobsWorld.ts';

let api: TestApi;
let who: Payer;
beforeAll(async () => {
  api = await startApi();
  who = await payer(api);
});
afterAll(() => api?.stop());

const watches = () => api.opened.dependencies.jobs.jobWatch;

async function openMany(payer: Payer, queueId: string, count: number): Promise<EventStream[]> {
  const { secret } = payer;
  return await Promise.all(Array.from({ length: count }, () => openEvents(api.origin, { queueId, secret })));
}

describe('open streams', () => {
  it('use bounded memory for 200 at once, all receive the end, and all are released', async () => {
    const { sql } = api.opened.dependencies.core;
    const payers = [who, await payer(api)];
    const jobs = await Promise.all(payers.map((each) => acceptJob(sql, each)));
    for (const job of jobs) await submitJob(sql, job);
    global.gc?.();
    const before = process.memoryUsage();
    const streams = (
      await Promise.all(payers.map((each, index) => openMany(each, jobs[index] ?? '', WATCHES_PER_ACCOUNT)))
    ).flat();
    for (const job of jobs) for (const percent of [20, 40, 60, 80]) await progressJob(sql, job, percent);
    await expect.poll(() => streams.every((each) => each.text().includes('"progress":80'))).toBe(true);
    const after = process.memoryUsage();
    expect(watches().open).toBe(200);
    // This process has both ends of every connection.
    expect(after.rss - before.rss).toBeLessThan(150 * 1024 * 1024);
    for (const job of jobs) await storeJob(sql, job);
    await Promise.all(streams.map(({ ended }) => ended));
    for (const stream of streams) expect(stream.events().at(-1)).toMatchObject({ event: 'end' });
    expect(watches().open).toBe(0);
  });

  it('beyond those of one account are refused in words, and others still get theirs', async () => {
    const { sql } = api.opened.dependencies.core;
    const queueId = await acceptJob(sql, who);
    const streams = await openMany(who, queueId, WATCHES_PER_ACCOUNT);
    const refused = await openEvents(api.origin, { queueId, secret: who.secret });
    await refused.ended;
    const words = `At most ${WATCHES_PER_ACCOUNT} streams of job events may be open at once for one account.`;
    expect([refused.status, JSON.parse(refused.text())]).toEqual([429, { error: words, customMessage: words }]);
    expect(refused.headers['retry-after']).toBe('5');
    const stranger = await payer(api);
    const theirs = await openMany(stranger, await acceptJob(sql, stranger), 1);
    expect(theirs[0]?.status).toBe(200);
    for (const stream of [...streams, ...theirs]) stream.cut();
    await expect.poll(() => watches().open).toBe(0);
    const [next] = await openMany(who, queueId, 1);
    expect(next?.status).toBe(200);
    next?.cut();
    await expect.poll(() => watches().open).toBe(0);
  });

  it('beyond the limit of one process are refused as unavailable', async () => {
    const open = Array.from({ length: 1_000 }, (_, account) =>
      watches().watch({ queueId: 'q', accountId: `account ${account}` }),
    );
    const queueId = await acceptJob(api.opened.dependencies.core.sql, who);
    const [refused] = await openMany(who, queueId, 1);
    await refused?.ended;
    expect([refused?.status, refused?.headers['retry-after']]).toEqual([503, '5']);
    for (const watch of open) watch.close();
    expect(watches().open).toBe(0);
  });

  it('of ten accounts leave places to others', () => {
    const open: JobChangeWaiter[] = [];
    const openAll = (accountId: string) => {
      for (let count = 0; ; count += 1) {
        try {
          open.push(watches().watch({ queueId: 'q', accountId }));
        } catch {
          return count;
        }
      }
    };
    const counts = Array.from({ length: 10 }, (_, account) => openAll(`account ${account}`));
    expect(counts).toEqual([100, 100, 100, 100, 100, 100, 40, 36, 32, 29]);
    expect(openAll('stranger')).toBeGreaterThan(20);
    for (const watch of open) watch.close();
    expect(watches().open).toBe(0);
  });

  it('get a retry time when the process stops, and do not delay its end', async () => {
    const second = await startApi({ environment: api.environment });
    const queueId = await acceptJob(api.opened.dependencies.core.sql, who);
    const stream = await openEvents(second.origin, { queueId, secret: who.secret });
    await expect.poll(() => stream.events().length).toBe(3);
    const stopped = second.stop();
    await stream.ended;
    expect(stream.text()).toMatch(/retry: [12]\d{3}\n\n$/);
    expect(stream.events().map(({ event }) => event)).not.toContain('end');
    await stopped;
  });
});

describe('the stream of a job', () => {
  const quiet = createLogger({ level: 'silent', name: 'test', destination: { write: () => undefined } });

  /** Runs a stream with milliseconds in place of seconds and hours. */
  async function tell(more: {
    read?: (after: number) => Promise<JobChange[]>;
    take(text: string): boolean | Promise<boolean>;
    longestMs?: number;
  }) {
    const { sql } = api.opened.dependencies.core;
    const queueId = await acceptJob(sql, who);
    const eventState = createEventState(queueId);
    const firstEvents = appendChanges(eventState, await readChanges(sql, { queueId, after: 0 }));
    const read = more.read ?? ((after: number) => readChanges(sql, { queueId, after }));
    const watch = watches().watch({ queueId, accountId: who.accountId });
    const { signal } = new AbortController();
    const times = { heartbeatMs: 50, longestMs: more.longestMs ?? 2_000 };
    const isKeyValid = async () => true;
    const stream = { watch, eventState, firstEvents, read, isKeyValid, signal, stopping: signal, log: quiet, times };
    await streamJobEvents(stream, more.take);
    return queueId;
  }

  it('sends heartbeats while nothing happens, and ends regularly at its maximum duration', async () => {
    const texts: string[] = [];
    await tell({ take: (text) => texts.push(text) > 0 });
    expect(texts[0]).toContain('event: state');
    const beats = texts.filter((text) => text === ': still running\n\n');
    expect(beats.length).toBeGreaterThan(3);
    expect(beats.length).toBeLessThan(45);
    expect(texts.at(-1)).toMatch(/^retry: \d+\n\n$/);
    expect(watches().open).toBe(0);
  });

  it('reads nothing for a slow client, and stops when that disconnects', async () => {
    let reads = 0;
    const read = async () => {
      reads += 1;
      return [];
    };
    const take = () => new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300));
    await tell({ read, take, longestMs: 60_000 });
    expect([reads, watches().open]).toEqual([0, 0]);
  });

  it('continues after a while without the database', async () => {
    const { sql } = api.opened.dependencies.core;
    let failures = 0;
    let queue = '';
    const texts: string[] = [];
    const read = async (after: number): Promise<JobChange[]> => {
      failures += 1;
      if (failures < 4) throw new Error('no database');
      await storeJob(sql, queue);
      return await readChanges(sql, { queueId: queue, after });
    };
    const take = (text: string) => {
      queue ||= /"queue_id":"([^"]+)"/.exec(text)?.[1] ?? '';
      return texts.push(text) > 0;
    };
    await tell({ read, take, longestMs: 100_000 });
    expect(texts.at(-1)).toContain('event: end');
    expect(failures).toBe(4);
  });
});
