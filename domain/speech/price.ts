/** Prices of transcripts (AUDIO-5) and of speech (AUDIO-6). */
import { type AsrModel, priceOf, type TtsModel } from '../catalogue/model.ts';
import type { PublishedPrice } from '../catalogue/specs.ts';
import type { LedgerPrice, PriceSnapshot } from '../ledger.ts';
import { lineCost } from '../money.ts';
import { millions } from '../text/bill.ts';

const MS_PER_SECOND = 1_000n;
const CHARACTERS_PER_UNIT = 1_000_000n;

/** Decoded length in whole milliseconds, rounded up; shown as `duration` and billed. */
export function billedMs(decodedSeconds: number): number {
  // Sample clocks make exact milliseconds inexact in binary; the tolerated microsecond is less than one sample.
  return Math.max(1, Math.ceil(decodedSeconds * 1_000 - 1e-3));
}

export function priceOfRecording({ spec }: AsrModel, ms: number): LedgerPrice {
  return priceOfAmount(spec.pricing.per_audio_second, BigInt(ms), MS_PER_SECOND);
}

export function priceOfSpeech({ spec }: TtsModel, characters: number): LedgerPrice {
  return priceOfAmount(spec.pricing.input, BigInt(characters), CHARACTERS_PER_UNIT);
}

/** Rounds each currency up once. */
function priceOfAmount(rate: PublishedPrice, amount: bigint, perUnit: bigint): LedgerPrice {
  const { usd, diem } = priceOf(rate);
  return { usd: lineCost(amount, usd, perUnit), diem: lineCost(amount, diem, perUnit) };
}

/** Unicode code points, as in JSON Schema: an emoji counts as one, whatever its encoding. */
export function charactersOf(input: string): number {
  let characters = 0;
  for (const _ of input) characters += 1;
  return characters;
}

/** Snapshot of a transcription for the ledger. */
export function recordingSnapshot(model: AsrModel, sold: { ms: number; requestId: string }): PriceSnapshot {
  return {
    ...{ sku: `${model.id}-asr-second`, modelId: model.id, provider: model.provider },
    ...{ unit: 'audio seconds', units: (sold.ms / 1_000).toFixed(3), requestId: sold.requestId },
    pricePerUnitUsd: priceOf(model.spec.pricing.per_audio_second).usd.toString(),
    notes: 'API Inference',
  };
}

export function speechSnapshot(model: TtsModel, sold: { characters: number; requestId: string }): PriceSnapshot {
  return {
    ...{ sku: `${model.id}-tts-mchar`, modelId: model.id, provider: model.provider },
    ...{ unit: 'million characters', units: millions(sold.characters), requestId: sold.requestId },
    pricePerUnitUsd: priceOf(model.spec.pricing.input).usd.toString(),
    notes: 'API Inference',
  };
}
