/** Model as `GET /models` shows it (MODEL-1, MODEL-2). */
import { nanoToNumber } from '../money.ts';
import type { ProviderSettings } from '../providerSettings.ts';
import { onDisconnectOf } from '../text/leftStream.ts';
import type { Model, TextModel, VoiceChangerModel } from './model.ts';
import { CAPABILITY_FLAGS, type Capabilities, type DurationPrices, type InpaintSpec } from './specs.ts';

export interface ShownModel {
  model: Model;
  /** Name of the brand. */
  ownedBy: string;
  offline: boolean;
  /** Traits for which it is the choice. */
  traits: readonly string[];
  /** By entry name. */
  providers: Readonly<Record<string, ProviderSettings>>;
}

export function presentModel({ model, ownedBy, offline, traits, providers }: ShownModel) {
  const { deprecation, beta, betaModel, uncensored, model_sets, regionRestrictions } = model.listing ?? {};
  return {
    id: model.id,
    object: 'model' as const,
    created: model.created,
    owned_by: ownedBy,
    type: model.type,
    ...(model.kind === 'text' ? { context_length: model.spec.availableContextTokens } : {}),
    ...(model.discountToUser === undefined ? {} : { discount_to_user: model.discountToUser }),
    model_spec: {
      name: model.name,
      ...(model.description === '' ? {} : { description: model.description }),
      ...(model.modelSource === '' ? {} : { modelSource: model.modelSource }),
      privacy: model.privacy,
      offline,
      traits,
      ...present({ deprecation, beta, betaModel, model_sets, regionRestrictions }),
      // Present in public only when it is true.
      ...(uncensored ? { uncensored } : {}),
      ...specOf(model, providers),
    },
  };
}

/** Drops undefined members. */
function present<T extends Record<string, unknown>>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function specOf(model: Model, providers: ShownModel['providers']): object {
  switch (model.kind) {
    case 'text':
      return {
        ...model.spec,
        capabilities: capabilitiesOf(model),
        onDisconnect: onDisconnectOf(model, providers),
      };
    case 'inpaint':
      return { ...model.spec, ...inputImages(model.spec) };
    case 'music':
      return { ...model.spec, pricing: withSeconds(model.spec.pricing) };
    case 'video':
      return {
        ...model.spec,
        ...(model.spec.constraints ? { constraints: videoConstraints(model.spec) } : {}),
      };
    case 'voice-changer':
      return voiceChangerSpec(model);
    default:
      return model.spec;
  }
}

/** All flags are present; absent ones are false. */
function capabilitiesOf({ spec }: TextModel): Capabilities {
  const flags = Object.fromEntries(CAPABILITY_FLAGS.map((flag) => [flag, false]));
  return { ...flags, quantization: 'not-available', ...spec.capabilities };
}

/** Puts `maxInputImages` under the capabilities and the constraints (MODEL-3). */
function inputImages({ capabilities, constraints }: InpaintSpec): Pick<InpaintSpec, 'capabilities' | 'constraints'> {
  const maxInputImages = capabilities?.maxInputImages ?? constraints?.maxInputImages;
  if (maxInputImages === undefined) return {};
  return {
    capabilities: { ...capabilities, maxInputImages },
    constraints: { ...constraints, maxInputImages },
  };
}

function videoConstraints({ constraints }: Extract<Model, { kind: 'video' }>['spec']): object {
  return { audio: false, audio_configurable: false, ...constraints };
}

function withSeconds<Pricing extends { durations?: DurationPrices }>(pricing: Pricing): Pricing {
  return pricing.durations ? { ...pricing, durations: tiersOf(pricing.durations) } : pricing;
}

/** Gives each tier its first and last second; default: from the tier below up to its own key. */
function tiersOf(durations: DurationPrices): DurationPrices {
  let from = 1;
  const tiers = Object.entries(durations)
    .sort(([left], [right]) => Number(left) - Number(right))
    .map(([ceiling, tier]) => {
      const shown = { min_seconds: from, max_seconds: Number(ceiling), ...tier };
      from = shown.max_seconds + 1;
      return [ceiling, shown] as const;
    });
  return Object.fromEntries(tiers);
}

function voiceChangerSpec(model: VoiceChangerModel): object {
  const durations = model.durations.map(({ ceilingSeconds, price }) => [
    String(ceilingSeconds),
    { usd: nanoToNumber(price.usd), diem: nanoToNumber(price.diem) },
  ]);
  return {
    voice_changer: true,
    accepted_audio_formats: model.acceptedAudioFormats,
    max_source_audio_duration_seconds: model.maxSourceAudioDurationSeconds,
    voices: model.voices,
    default_voice: model.defaultVoice,
    supports_custom_voice_id: model.supportsCustomVoiceId,
    supports_background_noise_removal: model.supportsBackgroundNoiseRemoval,
    supports_seed: model.supportsSeed,
    pricing: { durations: tiersOf(Object.fromEntries(durations)) },
  };
}
