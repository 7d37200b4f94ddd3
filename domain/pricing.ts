/** A price is a function of measured usage. The quote route and the charge call the same function. */
import type { Price, VoiceChangerModel } from './catalogue/model.ts';

/** Encoders add delay and padding at both ends: this much above a whole second is not billed. */
export const ENCODER_PADDING_SECONDS = 0.15;

/**
 * Billed whole seconds of a decoded length (AUDIO-3): rounded up, less the padding of a lossy encoder; lossless sources
 * have none. At least one second.
 */
export function billableSeconds(decodedSeconds: number, lossy: boolean): number {
  const speech = lossy ? decodedSeconds - ENCODER_PADDING_SECONDS : decodedSeconds;
  // A 44.1 kHz sample clock makes exact seconds inexact in binary; the tolerated microsecond is less than one sample.
  return Math.max(1, Math.ceil(speech - 1e-6));
}

/** Longest source that the model accepts: its stated maximum, or its last price tier if that is lower. */
export function longestBillableSeconds(model: VoiceChangerModel): number {
  return Math.min(model.maxSourceAudioDurationSeconds, model.durations.at(-1)?.ceilingSeconds ?? 0);
}

/** Price of a source of this many seconds, by whole-minute tier; undefined when it is too long. */
export function quoteVoiceChanger(model: VoiceChangerModel, seconds: number): Price | undefined {
  if (!(seconds > 0) || seconds > longestBillableSeconds(model)) return undefined;
  return model.durations.find((tier) => seconds <= tier.ceilingSeconds)?.price;
}
