/** Client behaviour from order to end. Each flow passes other failpoints. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { toneWav } from '../../bench/wav.ts';
import { sourceKey } from '../../infra/s3/objectKeys.ts';
import { dataUrl, SQUARE } from '../acceptance/generation/media.ts';
import {
  awaitJob,
  cancelJob,
  completeJob,
  type Job,
  type JobClient,
  type JobEnd,
  type JobOrder,
  order,
  queueJob,
  readRetrieve,
  retrieve,
} from '../harness/jobDriver.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import { until } from '../harness/until.ts';
import type { KillWorld } from './killWorld.ts';

export interface FlowResult extends Job {
  end: JobEnd['ended'];
}

interface FlowContext {
  world: KillWorld;
  client: JobClient;
  /** Called at the start of the part that the case is about. */
  begin(): void;
}

export type Flow = (context: FlowContext) => Promise<FlowResult>;

const SHORT = toneWav(2);
const EXPIRE_LIMIT_MS = 300_000;
/** Its output is several chunks long. */
const LONG = toneWav(20);

function accept(client: JobClient, model: string, source = SHORT): Promise<Job> {
  return acceptOrder(client, { model, source });
}

async function acceptOrder(client: JobClient, wanted: JobOrder): Promise<Job> {
  const queued = await queueJob(client, wanted);
  if (queued.ended !== 'accepted') throw new Error(`refused: ${queued.status} ${queued.error}`);
  const { kind = 'voice-changer', model } = wanted;
  return { kind, model, queueId: queued.queueId };
}

async function finish(client: JobClient, job: Job): Promise<FlowResult> {
  const { ended } = await awaitJob(client, job);
  if (ended === 'delivered') await completeJob(client, job);
  return { ...job, end: ended };
}

/** Order, poll, download, complete. */
function whole(model: string, source?: Buffer): Flow {
  return async ({ client, begin }) => {
    begin();
    return await finish(client, await accept(client, model, source));
  };
}

/** Like `whole`, with an order in JSON. */
function ordered(wanted: JobOrder): Flow {
  return async ({ client, begin }) => {
    begin();
    return await finish(client, await acceptOrder(client, wanted));
  };
}

/** Needs no measuring. */
const MUSIC: JobOrder = { kind: 'audio', model: modelId('music'), fields: { prompt: 'A tram at dawn' } };
const FILM: JobOrder = {
  kind: 'video',
  model: modelId('film'),
  fields: {
    ...{ prompt: 'A tram', duration: '1s', resolution: '256p' },
    image_url: dataUrl('image/png', SQUARE),
  },
};

/** The client loses the first answer to its order after receiving all of it, and repeats the order. */
async function forgetful({ client, begin }: FlowContext): Promise<FlowResult> {
  begin();
  const wanted = { model: modelId('instant'), source: SHORT, idempotencyKey: randomUUID() };
  await order(client, wanted);
  const again = await queueJob(client, wanted);
  if (again.ended !== 'accepted' || !again.replayed) throw new Error('the second answer is not a replay');
  return await finish(client, { model: wanted.model, queueId: again.queueId });
}

/** Arms failpoints for the download only. */
async function download({ client, begin }: FlowContext): Promise<FlowResult> {
  const job = await accept(client, modelId('instant'), LONG);
  await awaitJob(client, job);
  begin();
  return await finish(client, job);
}

/** Requests deletion with the download, and completes the job itself in case that got lost. */
async function deleteOnDelivery({ client, begin }: FlowContext): Promise<FlowResult> {
  const job = await accept(client, modelId('instant'));
  await awaitJob(client, job);
  begin();
  const delivered = await retrieve(client, job, { delete_media_on_completion: true }).catch(() => undefined);
  const { ended } = (delivered && readRetrieve(delivered)) ?? (await awaitJob(client, job));
  await completeJob(client, job);
  return { ...job, end: ended === 'gone' ? 'delivered' : ended };
}

/** Nobody completes the job: its media expire. */
async function expire({ client, begin }: FlowContext): Promise<FlowResult> {
  // They may be gone before their job was seen to have ended.
  begin();
  const job = await accept(client, modelId('instant'));
  await until('the media expire', async () => (await awaitJob(client, job)).ended === 'gone', EXPIRE_LIMIT_MS);
  return { ...job, end: 'gone' };
}

/** The client cancels a job while its provider works. */
async function cancel({ client, begin }: FlowContext): Promise<FlowResult> {
  const job = await accept(client, modelId('endless'));
  await sleep(300);
  begin();
  await cancelJob(client, job);
  return await finish(client, job);
}

/** Sweeps a bucket with a stored job and an orphan. Only the orphan is removed. */
async function sweep({ client, world, begin }: FlowContext): Promise<FlowResult> {
  const job = await accept(client, modelId('instant'));
  await awaitJob(client, job);
  const orphan = sourceKey(randomUUID());
  const about = { contentType: 'application/octet-stream' };
  await world.storage.putBytes(orphan, Buffer.from('left behind'), about);
  begin();
  await world.sweep(1_000);
  if ((await world.storage.sizeOf(orphan)) !== undefined) throw new Error('the orphan is still there');
  return await finish(client, job);
}

export const FLOWS = {
  instant: whole(modelId('instant')),
  slow: whole(modelId('slow')),
  patient: whole(modelId('patient')),
  refusing: whole(modelId('refusing')),
  silent: whole(modelId('silent')),
  local: whole('local-voice-changer'),
  music: ordered(MUSIC),
  film: ordered(FILM),
  forgetful,
  download,
  deleteOnDelivery,
  expire,
  cancel,
  sweep,
} satisfies Record<string, Flow>;

export type FlowName = keyof typeof FLOWS;
