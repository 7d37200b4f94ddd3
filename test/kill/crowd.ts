/** Many clients at once: each orders, waits, downloads and completes, and does not give up when something breaks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toneWav } from '../../bench/wav.ts';
import { awaitJob, completeJob, type JobClient, order, persist, readOrder } from '../harness/jobDriver.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import type { ProviderName } from './models.ts';
import type { Payer } from './payer.ts';
import type { Chance } from './random.ts';

export interface Errand {
  payer: Payer;
  model: string;
  idempotencyKey: string;
  startAfterMs: number;
}

export interface ErrandEnd {
  errand: Errand;
  queueId: string;
  end: 'delivered' | 'failed';
}

const MODELS: readonly (ProviderName | 'local')[] = [
  ...(['instant', 'instant', 'slow', 'slow', 'slow', 'refusing', 'silent', 'local'] as const),
];

export function errandsFor(
  payers: readonly Payer[],
  chance: Chance,
  { count, withinMs }: { count: number; withinMs: number },
): Errand[] {
  return Array.from({ length: count }, (_, index) => {
    const name = MODELS[index % MODELS.length] ?? 'instant';
    return {
      payer: chance.pick(payers),
      model: name === 'local' ? 'local-voice-changer' : modelId(name),
      idempotencyKey: `errand-${index}`,
      startAfterMs: (index / count) * withinMs,
    };
  });
}

const SOURCE = toneWav(2);

export async function runErrand(baseUrl: string, errand: Errand, limitMs: number): Promise<ErrandEnd> {
  const { payer, model, idempotencyKey } = errand;
  const client: JobClient = { baseUrl: () => baseUrl, secret: payer.secret };
  await sleep(errand.startAfterMs);
  const wanted = { model, source: SOURCE, idempotencyKey };
  const queued = await persist(() => order(client, wanted), readOrder, limitMs);
  if (queued.ended !== 'accepted')
    throw new Error(`${idempotencyKey} refused: ${queued.status} ${queued.error}`);
  const job = { model, queueId: queued.queueId };
  const end = await awaitJob(client, job, limitMs);
  if (end.ended === 'gone') throw new Error(`${idempotencyKey}: the media of ${job.queueId} are gone`);
  if (end.ended === 'failed' && !end.refunded) throw new Error(`${idempotencyKey}: failed without a refund`);
  if (end.ended === 'delivered') await completeJob(client, job, limitMs);
  return { errand, queueId: job.queueId, end: end.ended };
}
