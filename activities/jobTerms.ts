/** Terms of a measured order, by the present catalogue. */
import type { Model } from '../domain/catalogue/model.ts';
import { priceAudio } from '../domain/generation/audioOffer.ts';
import type { MeasuredMedium } from '../domain/generation/media.ts';
import { type MeasuredVideo, priceVideo, wholeSeconds } from '../domain/generation/priceVideo.ts';
import type { Terms } from '../domain/generation/terms.ts';
import { needsOf } from '../domain/generation/videoNeeds.ts';
import { billableSeconds, quoteVoiceChanger } from '../domain/pricing.ts';
import type { AudioGeneration, GenerationInput, VideoGeneration, VoiceChange } from '../workflows/contract.ts';
import type { MeasuredMedia, MeasuredSource, Measurement, Refusal } from './types.ts';

export interface JobTerms {
  ok: true;
  terms: Terms;
  /** Duration for the row and the usage; absent when the order has no length. */
  durationSeconds?: number;
  /** For the timeline; absent when nothing was measured. */
  measured?: string;
}

const NOT_FOUND: Refusal = { ok: false, code: 'model_not_found', message: 'Specified model not found' };
const NO_PRICE: Refusal = {
  ok: false,
  code: 'model_offline',
  message: 'The model has no price for this order at the moment.',
};

export function jobTerms(model: Model | undefined, order: MeasuredOrder): JobTerms | Refusal {
  switch (order.job.kind) {
    case 'voice-changer':
      return voiceChangeTerms(model, order.job, order.source as MeasuredSource);
    case 'audio': {
      if (model?.kind !== 'music') return NOT_FOUND;
      const { usage } = order.job;
      const terms = priceAudio(model, usage);
      return terms ? { ok: true, terms, ...lengthOf(usage.durationSeconds) } : NO_PRICE;
    }
    case 'video':
      return videoTerms(model, order.job, order.source as MeasuredMedia);
  }
}

function voiceChangeTerms(model: Model | undefined, job: VoiceChange, source: MeasuredSource): JobTerms | Refusal {
  if (model?.kind !== 'voice-changer') return NOT_FOUND;
  const durationSeconds = billableSeconds(source.decodedSeconds, source.lossy);
  const price = quoteVoiceChanger(model, durationSeconds);
  if (!price) return { ok: false, code: 'media_too_long', message: 'The recording is longer than this model takes.' };
  const minutes = Math.ceil(durationSeconds / 60);
  return {
    ok: true,
    terms: {
      price,
      sku: `${job.modelId}-audio-minute`,
      unit: 'minute',
      units: String(minutes),
      pricePerUnitUsd: price.usd / BigInt(minutes),
    },
    durationSeconds,
    measured: `${source.decodedSeconds.toFixed(3)} s of ${source.format}`,
  };
}

function videoTerms(model: Model | undefined, job: VideoGeneration, { media }: MeasuredMedia): JobTerms | Refusal {
  if (model?.kind !== 'video') return NOT_FOUND;
  // A source that only guides the service determines neither length nor price.
  const source = needsOf(model).bySource ? sourceOf(media) : undefined;
  const terms = priceVideo(model, job.usage, source);
  if (!terms) return NO_PRICE;
  const durationSeconds = source ? wholeSeconds(source.seconds) : job.usage.durationSeconds;
  return { ok: true, terms, ...lengthOf(durationSeconds), ...measuredWords(media) };
}

function lengthOf(durationSeconds: number | undefined): Pick<JobTerms, 'durationSeconds'> {
  return durationSeconds === undefined ? {} : { durationSeconds };
}

/** Source video of the order, if there is one. */
function sourceOf(media: readonly MeasuredMedium[]): MeasuredVideo | undefined {
  const video = media.find(({ role }) => role === 'video');
  if (video?.seconds === undefined || video.height === undefined) return undefined;
  return { seconds: video.seconds, height: video.height, framesPerSecond: video.framesPerSecond ?? 0 };
}

function measuredWords(media: readonly MeasuredMedium[]): Pick<JobTerms, 'measured'> {
  if (media.length === 0) return {};
  const words = media.map(({ role, seconds, width, height }) =>
    [role, seconds?.toFixed(3).concat(' s'), width && `${width}×${height}`].filter(Boolean).join(' '),
  );
  return { measured: words.slice(0, MAX_WORDS).join(', ') };
}

const MAX_WORDS = 12;

/** Pairs an order with its measurements of the same kind. */
export type MeasuredOrder =
  | { job: VoiceChange; source: MeasuredSource }
  | { job: AudioGeneration; source: MeasuredMedia }
  | { job: VideoGeneration; source: MeasuredMedia };

/** Temporal passes both as plain JSON. Throws when their kinds differ. */
export function measuredOrder({ job, source }: { job: GenerationInput; source: Measurement }): MeasuredOrder {
  if (job.kind === 'voice-changer' && 'decodedSeconds' in source) return { job, source };
  if (job.kind === 'audio' && 'media' in source) return { job, source };
  if (job.kind === 'video' && 'media' in source) return { job, source };
  throw new Error(`job ${job.queueId} of kind ${job.kind} came with the measurements of another kind`);
}
