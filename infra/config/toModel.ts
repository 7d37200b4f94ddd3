/** Converts an entry of the configuration file to a model of the catalogue. */
import {
  DEFAULT_CREATED,
  type DurationTier,
  type Model,
  type ModelBase,
  priceOf,
  type VoiceChangerModel,
} from '../../domain/catalogue/model.ts';
import type { Listing } from '../../domain/catalogue/specs.ts';
import { isVoiceChanger, type ModelEntry, type VoiceChangerEntry } from './schema/models.ts';

const DEFAULT_EXECUTION_MS = 10_000;

export function toModel(entry: ModelEntry): Model {
  if (isVoiceChanger(entry)) return toVoiceChanger(entry);
  const shared = baseOf(entry);
  switch (entry.type) {
    case 'text':
      return {
        ...shared,
        ...sizeOf(entry),
        ...(entry.mediaTokens === undefined ? {} : { mediaTokens: entry.mediaTokens }),
        kind: 'text',
        type: 'text',
        spec: ownSpec(entry.spec),
      };
    case 'embedding':
      return { ...shared, ...sizeOf(entry), kind: 'embedding', type: 'embedding', spec: ownSpec(entry.spec) };
    case 'decision':
      return {
        ...shared,
        ...evaluationOf(entry),
        kind: 'decision',
        type: 'decision',
        spec: ownSpec(entry.spec),
      };
    case 'image':
      return { ...shared, ...useOf(entry), kind: 'image', type: 'image', spec: ownSpec(entry.spec) };
    case 'inpaint':
      return { ...shared, kind: 'inpaint', type: 'inpaint', spec: ownSpec(entry.spec) };
    case 'upscale':
      return { ...shared, kind: 'upscale', type: 'upscale', spec: ownSpec(entry.spec) };
    case 'asr':
      return { ...shared, kind: 'asr', type: 'asr', spec: ownSpec(entry.spec) };
    case 'tts':
      return { ...shared, kind: 'tts', type: 'tts', spec: ownSpec(entry.spec) };
    case 'music': {
      const { voice_changer: _no, ...spec } = ownSpec(entry.spec);
      return { ...shared, kind: 'music', type: 'music', spec };
    }
    case 'video':
      return {
        ...shared,
        kind: 'video',
        type: 'video',
        price: entry.price,
        ...(entry.inputs === undefined ? {} : { inputs: entry.inputs }),
        spec: ownSpec(entry.spec),
      };
  }
}

function baseOf(entry: ModelEntry): ModelBase {
  const { spec } = entry;
  return {
    id: entry.id,
    provider: entry.provider,
    upstreamModel: entry.upstreamModel ?? entry.id,
    privacy: entry.privacy,
    name: spec.name,
    description: spec.description ?? '',
    modelSource: spec.modelSource ?? '',
    created: entry.created ?? DEFAULT_CREATED,
    listing: listingOf(spec),
    ...(entry.aliases === undefined ? {} : { aliases: entry.aliases }),
    ...(entry.discount_to_user === undefined ? {} : { discountToUser: entry.discount_to_user }),
  };
}

/** Members of `spec` that all types share; the others describe the type. */
const SHARED = [
  'name',
  'description',
  'modelSource',
  'privacy',
  'offline',
  'beta',
  'betaModel',
  'uncensored',
  'traits',
  'model_sets',
  'regionRestrictions',
  'deprecation',
] as const;
type SharedField = (typeof SHARED)[number];
const NOT_LISTED: readonly string[] = ['name', 'description', 'modelSource', 'privacy'];

function isShared(key: string): boolean {
  return (SHARED as readonly string[]).includes(key);
}

function listingOf(spec: ModelEntry['spec']): Listing {
  const members = Object.entries(spec).filter(([key]) => isShared(key) && !NOT_LISTED.includes(key));
  return Object.fromEntries(members);
}

function ownSpec<Spec extends object>(spec: Spec): Omit<Spec, SharedField> {
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !isShared(key))) as Omit<Spec, SharedField>;
}

function sizeOf({ size }: Extract<ModelEntry, { type: 'text' | 'embedding' }>) {
  return size === undefined ? {} : { size };
}

function evaluationOf({ evaluation }: Extract<ModelEntry, { type: 'decision' }>) {
  return evaluation === undefined ? {} : { evaluation };
}

function useOf({ imageUse }: Extract<ModelEntry, { type: 'image' }>) {
  return imageUse === undefined ? {} : { imageUse };
}

function toVoiceChanger(entry: VoiceChangerEntry): VoiceChangerModel {
  const { spec } = entry;
  return {
    ...baseOf(entry),
    kind: 'voice-changer',
    type: 'music',
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
    .map(([ceiling, tier]) => ({ ceilingSeconds: Number(ceiling), price: priceOf(tier) }))
    .sort((left, right) => left.ceilingSeconds - right.ceilingSeconds);
}
