/** A voice changer of the configuration file in the words of the catalogue. */
import type { DurationTier, VoiceChangerModel } from '../../domain/catalogue/model.ts';
import { type Nano, nanoFromNumber } from '../../domain/money.ts';
import type { VoiceChangerEntry } from './schema/models.ts';

/** Shown as `created` when the entry does not say: the day of the first release, in Unix seconds. */
const DEFAULT_CREATED = Date.UTC(2026, 0, 1) / 1000;
const DEFAULT_EXECUTION_MS = 10_000;

export function toVoiceChanger(entry: VoiceChangerEntry): VoiceChangerModel {
  const { spec } = entry;
  return {
    kind: 'voice-changer',
    id: entry.id,
    type: 'music',
    provider: entry.provider,
    upstreamModel: entry.upstreamModel ?? entry.id,
    privacy: entry.privacy,
    name: spec.name,
    description: spec.description ?? '',
    modelSource: spec.modelSource ?? '',
    created: entry.created ?? DEFAULT_CREATED,
    acceptedAudioFormats: spec.accepted_audio_formats,
    maxSourceAudioDurationSeconds: spec.max_source_audio_duration_seconds,
    voices: spec.voices ?? [spec.default_voice],
    defaultVoice: spec.default_voice,
    supportsCustomVoiceId: spec.supports_custom_voice_id ?? false,
    supportsBackgroundNoiseRemoval: spec.supports_background_noise_removal ?? false,
    supportsSeed: spec.supports_seed ?? false,
    durations: toTiers(spec.pricing.durations),
    defaultExecutionMs: DEFAULT_EXECUTION_MS,
  };
}

function toTiers(durations: VoiceChangerEntry['spec']['pricing']['durations']): DurationTier[] {
  return Object.entries(durations)
    .map(([ceiling, tier]) => ({
      ceilingSeconds: Number(ceiling),
      price: { usd: toNano(tier.usd), diem: toNano(tier.diem) },
    }))
    .sort((left, right) => left.ceilingSeconds - right.ceilingSeconds);
}

function toNano(units: number): Nano {
  const nano = nanoFromNumber(units);
  // The schema refuses every amount that nano units cannot express.
  if (nano === undefined) throw new RangeError(`not an amount: ${units}`);
  return nano;
}
