/**
 * Jobs with a 2 s WAV, a simulator without latency, one worker and the output in S3. The floor is a bare workflow on
 * the same server with as many activities; the first runs the same probe, the last the same put. Same run, in turns.
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

/** Poll interval of one client. With 16 clients, each polls a sixteenth as often. */
const POLL_MS = 10;

/** Pause before each single job, so that cleanup after the previous delivery is over. */
const REST_MS = 50;

interface JobTimes {
  perSecond: number;
  answeredMs: number[];
  finishedMs: number[];
}

export type Side = (lanes: number, count: number) => Promise<JobTimes>;

export interface JobsOptions {
  /** About this many run at 16 in flight, and half as many one at a time, on each side. */
  jobs?: number;
}

export async function benchmarkJobs(options: JobsOptions = {}): Promise<{ ok: boolean }> {
  const jobs = options.jobs ?? 240;
  const world = await openWorld(CONFIGURATION);
  try {
    const source = path.join(world.folder, 'source.wav');
    writeFileSync(source, toneWav(2));
    const product = await openProduct(world, source);
    const floor = await openFloor(world, source);
    const sides = { floor, product };
    await measureInRounds(sides, { lanes: 8, rounds: 1, jobs: 40 });
    const single = await measureInRounds(sides, { lanes: 1, rounds: Math.ceil(jobs / 24), jobs: 10 });
    const many = await measureInRounds(sides, { lanes: 16, rounds: Math.ceil(jobs / 60), jobs: 80 });
    const rows = [
      { lanes: 1, ...single },
      { lanes: 16, ...many },
    ];
    return reportFigures(rows);
  } finally {
    await world.close();
  }
}

/** Short rounds in turns, so that disturbances of the machine affect both sides. */
async function measureInRounds(
  sides: { floor: Side; product: Side },
  { lanes, rounds, jobs }: { lanes: number; rounds: number; jobs: number },
): Promise<{ floor: JobTimes; product: JobTimes }> {
  const floor: JobTimes[] = [];
  const product: JobTimes[] = [];
  for (let round = 0; round < rounds; round += 1) {
    floor.push(await sides.floor(lanes, jobs));
    product.push(await sides.product(lanes, jobs));
  }
  return { floor: mergeRounds(floor), product: mergeRounds(product) };
}

function mergeRounds(rounds: JobTimes[]): JobTimes {
  return {
    answeredMs: rounds.flatMap((round) => round.answeredMs),
    finishedMs: rounds.flatMap((round) => round.finishedMs),
    perSecond: rounds.length / rounds.reduce((sum, { perSecond }) => sum + 1 / perSecond, 0),
  };
}

/** Queues, polls and downloads as a client does. */
export async function openProduct(world: World, source: string): Promise<Side> {
  const { inference } = await world.createPayer();
  const api = await world.start('api');
  await world.start('worker');
  const post = createPoster(`${api.origin}/api/v1/audio/voice-changer`, `Bearer ${inference}`);
  const order = await orderOf(source);
  const isFinished = async (queueId: string) => {
    const question = Buffer.from(JSON.stringify({ model: MODEL, queue_id: queueId }));
    const answer = await post('/retrieve', question, 'application/json');
    if (answer.status !== 200) throw new Error(`retrieve: ${answer.status} ${answer.body.toString()}`);
    return answer.contentType.startsWith('audio/');
  };
  return createSide(async (lanes) => {
    const answer = await post('/queue', order.bytes, order.contentType);
    const { queue_id: queueId } = JSON.parse(answer.body.toString()) as { queue_id?: string };
    if (!queueId) throw new Error(`queue: ${answer.status} ${answer.body.toString()}`);
    return async () => {
      for (let tries = 0; tries < 3_000; tries += 1) {
        if (await isFinished(queueId)) return;
        await sleep(POLL_MS * lanes);
      }
      throw new Error('a job was not finished in 30 s');
    };
  });
}

/** Encodes the form once, because the client's cost of encoding is not measured. */
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

/** Plain HTTP with keep-alive: `fetch` costs twice as much CPU on the measured cores. */
function createPoster(base: string, authorization: string) {
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

/** Starts the workflow with an update and waits for its answer, then for the result. No HTTP server is involved. */
async function openFloor(world: World, source: string): Promise<Side> {
  const namespace = await world.createNamespace();
  const worker = await startFloorWorker(world, namespace);
  const connection = await Connection.connect({ address: world.environment.TEMPORAL_ADDRESS ?? '' });
  const client = new Client({ connection, namespace });
  const { size } = await stat(source);
  void worker.exit.then(() => connection.close());
  return createSide(async () => {
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

/** `begin` resolves when the order is answered. Its result resolves when the output is there. */
function createSide(begin: (lanes: number) => Promise<() => Promise<void>>): Side {
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

function reportFigures(rows: { lanes: number; floor: JobTimes; product: JobTimes }[]): { ok: boolean } {
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
