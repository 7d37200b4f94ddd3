/** A price is a function of measured usage. The quote route and the charge call the same function. */
import type { Price, VoiceChangerModel } from './catalogue/model.ts';

/** Encoders add delay and padding at both ends; up to this much past a whole second is theirs, not the person's. */
export const ENCODER_PADDING_SECONDS = 0.15;

/**
 * Whole seconds that are billed for a decoded length (AUDIO-3): rounded up, after taking off what a lossy encoder may
 * have added. Lossless sources carry no such padding. At least one second.
 */
export function billableSeconds(decodedSeconds: number, lossy: boolean): number {
  const speech = lossy ? decodedSeconds - ENCODER_PADDING_SECONDS : decodedSeconds;
  // A sample clock of 44.1 kHz makes exact seconds inexact in binary; a microsecond is less than one sample.
  return Math.max(1, Math.ceil(speech - 1e-6));
}

/** The longest source that the model takes: its stated maximum, or its last price tier where that ends earlier. */
export function longestBillableSeconds(model: VoiceChangerModel): number {
  return Math.min(model.maxSourceAudioDurationSeconds, model.durations.at(-1)?.ceilingSeconds ?? 0);
}

/** Price of a source of this many seconds, by whole-minute tier; undefined when it is longer than the model takes. */
export function quoteVoiceChanger(model: VoiceChangerModel, seconds: number): Price | undefined {
  if (!(seconds > 0) || seconds > longestBillableSeconds(model)) return undefined;
  return model.durations.find((tier) => seconds <= tier.ceilingSeconds)?.price;
}
