/**
 * Jobs: a 2 s WAV, a simulator without latency, one worker, the output in S3; against a bare workflow on the same server
 * with the same number of activities, the first running the same probe and the last the same put. Same run, in turns.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, WithStartWorkflowOperation } from '@temporalio/client';
import { modelId, simulatedVoice, simulator } from '../test/harness/simulatedVoices.ts';
import { type Spawned, spawnNode, untilReady } from '../test/harness/spawn.ts';
import { inLanes, percentile, reachesBars, round } from './statistics.ts';
import { toneWav } from './wav.ts';
import { openWorld, type World } from './world.ts';

const PROVIDER = 'instant';
const MODEL = modelId(PROVIDER);
export const CONFIGURATION = {
  providers: { [PROVIDER]: simulator() },
  models: [simulatedVoice(PROVIDER, 0.01)],
};

/** Between two questions of one client; of sixteen, each asks a sixteenth as often. */
const POLL_MS = 10;

/** One at a time means from rest: what the job before left to be done after its delivery is over. */
const REST_MS = 50;

interface JobTimes {
  perSecond: number;
  answeredMs: number[];
  finishedMs: number[];
}

export type Side = (lanes: number, count: number) => Promise<JobTimes>;

export interface JobsOptions {
  /** About as many are run at 16 in flight, and half as many one at a time, on either side. */
  jobs?: number;
}

export async function run(options: JobsOptions = {}): Promise<{ ok: boolean }> {
  const jobs = options.jobs ?? 240;
  const world = await openWorld(CONFIGURATION);
  try {
    const source = path.join(world.folder, 'source.wav');
    writeFileSync(source, toneWav(2));
    const product = await openProduct(world, source);
    const floor = await openFloor(world, source);
    const sides = { floor, product };
    await inRounds(sides, { lanes: 8, rounds: 1, jobs: 40 });
    const single = await inRounds(sides, { lanes: 1, rounds: Math.ceil(jobs / 24), jobs: 10 });
    const many = await inRounds(sides, { lanes: 16, rounds: Math.ceil(jobs / 60), jobs: 80 });
    const rows = [
      { lanes: 1, ...single },
      { lanes: 16, ...many },
    ];
    return judge(rows);
  } finally {
    await world.close();
  }
}

/** Short rounds in turns: what the machine does meanwhile strikes both. */
async function inRounds(
  sides: { floor: Side; product: Side },
  { lanes, rounds, jobs }: { lanes: number; rounds: number; jobs: number },
): Promise<{ floor: JobTimes; product: JobTimes }> {
  const floor: JobTimes[] = [];
  const product: JobTimes[] = [];
  for (let round = 0; round < rounds; round += 1) {
    floor.push(await sides.floor(lanes, jobs));
    product.push(await sides.product(lanes, jobs));
  }
  return { floor: together(floor), product: together(product) };
}

function together(rounds: JobTimes[]): JobTimes {
  return {
    answeredMs: rounds.flatMap((round) => round.answeredMs),
    finishedMs: rounds.flatMap((round) => round.finishedMs),
    perSecond: rounds.length / rounds.reduce((sum, { perSecond }) => sum + 1 / perSecond, 0),
  };
}

/** Queues, polls and fetches as a client does. */
export async function openProduct(world: World, source: string): Promise<Side> {
  const { inference } = await world.createPayer();
  const api = await world.start('api');
  await world.start('worker');
  const post = poster(`${api.origin}/api/v1/audio/voice-changer`, `Bearer ${inference}`);
  const order = await orderOf(source);
  const ask = async (queueId: string) => {
    const question = Buffer.from(JSON.stringify({ model: MODEL, queue_id: queueId }));
    const answer = await post('/retrieve', question, 'application/json');
    if (answer.status !== 200) throw new Error(`retrieve: ${answer.status} ${answer.body.toString()}`);
    return answer.contentType.startsWith('audio/');
  };
  return measure(async (lanes) => {
    const answer = await post('/queue', order.bytes, order.contentType);
    const { queue_id: queueId } = JSON.parse(answer.body.toString()) as { queue_id?: string };
    if (!queueId) throw new Error(`queue: ${answer.status} ${answer.body.toString()}`);
    return async () => {
      for (let tries = 0; tries < 3_000; tries += 1) {
        if (await ask(queueId)) return;
        await sleep(POLL_MS * lanes);
      }
      throw new Error('a job was not finished in 30 s');
    };
  });
}

/** The same bytes each time: what a client needs to put them together is not what is measured. */
async function orderOf(source: string): Promise<{ bytes: Buffer; contentType: string }> {
  const form = new FormData();
  form.set('model', MODEL);
  form.set('file', new Blob([await readFile(source)], { type: 'audio/wav' }), 'source.wav');
  const request = new Response(form);
  return {
    contentType: request.headers.get('content-type') ?? '',
    bytes: Buffer.from(await request.arrayBuffer()),
  };
}

/** Kept connections and nothing else: `fetch` costs twice of it, on the cores that are measured. */
function poster(base: string, authorization: string) {
  const agent = new http.Agent({ keepAlive: true });
  return async (path: string, body: Buffer, contentType: string) => {
    const headers = { authorization, 'content-type': contentType, 'content-length': body.length };
    const request = http.request(`${base}${path}`, { method: 'POST', agent, headers });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    const { statusCode: status } = answer;
    return { status, contentType: answer.headers['content-type'] ?? '', body: await buffer(answer) };
  };
}

/** Starts with an update, waits for its answer, then for the end: nothing between the client and the server. */
async function openFloor(world: World, source: string): Promise<Side> {
  const namespace = await world.createNamespace();
  const worker = await startFloorWorker(world, namespace);
  const connection = await Connection.connect({ address: world.environment.TEMPORAL_ADDRESS ?? '' });
  const client = new Client({ connection, namespace });
  const { size } = await stat(source);
  void worker.exit.then(() => connection.close());
  return measure(async () => {
    const operation = new WithStartWorkflowOperation('floor', {
      workflowId: randomUUID(),
      workflowIdConflictPolicy: 'USE_EXISTING',
      taskQueue: 'jobs',
      args: [{ path: source, sizeBytes: size, queues: { first: 'media', second: 'jobs', last: 'providers' } }],
    });
    await client.workflow.executeUpdateWithStart('accepted', { args: [], startWorkflowOperation: operation });
    const handle = await operation.workflowHandle();
    return async () => {
      await handle.result();
    };
  });
}

async function startFloorWorker(world: World, namespace: string): Promise<Spawned> {
  const worker = spawnNode({
    script: 'dist/bench/floor/worker.js',
    name: 'floor',
    environment: { ...world.environment, TEMPORAL_NAMESPACE: namespace },
    runFolder: world.runFolder,
  });
  const ready = async () => {
    if (!worker.logs().includes('worker ready')) throw new Error('not ready');
  };
  await untilReady(worker, ready, 60_000);
  return worker;
}

/** `begin` resolves when the order is answered, what it gives when the result is there. */
function measure(begin: (lanes: number) => Promise<() => Promise<void>>): Side {
  return async (lanes, count) => {
    const answeredMs: number[] = [];
    const finishedMs: number[] = [];
    const elapsedMs = await inLanes(lanes, count, async () => {
      if (lanes === 1) await sleep(REST_MS);
      const startMs = performance.now();
      const finish = await begin(lanes);
      answeredMs.push(performance.now() - startMs);
      await finish();
      finishedMs.push(performance.now() - startMs);
    });
    return { perSecond: (count / elapsedMs) * 1_000, answeredMs, finishedMs };
  };
}

function judge(rows: { lanes: number; floor: JobTimes; product: JobTimes }[]): { ok: boolean } {
  console.log('jobs: a 2 s WAV through the voice changer, simulator without latency, one worker');
  console.table(
    rows.flatMap(({ lanes, floor, product }) =>
      Object.entries({ floor, product }).map(([side, figures]) => ({
        'in flight': lanes,
        side,
        'jobs/s': round(figures.perSecond),
        'answered p50 ms': round(percentile(figures.answeredMs, 0.5)),
        'answered p99 ms': round(percentile(figures.answeredMs, 0.99)),
        'delivered p50 ms': round(percentile(figures.finishedMs, 0.5)),
      })),
    ),
  );
  const [single, many] = rows;
  if (!single || !many) return { ok: false };
  const p50 = (values: number[]) => percentile(values, 0.5);
  const isReached = reachesBars([
    ['jobs/s ÷ floor', many.product.perSecond / many.floor.perSecond, '≥', 0.7],
    [
      'answered − floor, one at a time, ms',
      p50(single.product.answeredMs) - p50(single.floor.answeredMs),
      ...(['≤', 15] as const),
    ],
    ['answered ÷ floor, 16 in flight', p50(many.product.answeredMs) / p50(many.floor.answeredMs), '≤', 2],
    [
      'delivered − floor, one at a time, ms',
      p50(single.product.finishedMs) - p50(single.floor.finishedMs),
      ...(['≤', 60] as const),
    ],
  ]);
  return { ok: isReached };
}
