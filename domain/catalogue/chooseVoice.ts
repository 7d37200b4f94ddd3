/** Chooses the voice of an order before the charge (AUDIO-2). */
import type { VoiceChangerModel } from './model.ts';

export type VoiceChoice = { ok: true; voice: string } | { ok: false; message: string; supportedVoices: string[] };

/**
 * Voice id of a provider: 1 to 60 safe characters. It becomes part of a URL at the provider, so characters of paths,
 * queries or controls are refused.
 */
export const CUSTOM_VOICE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$/;

/**
 * Returns the requested voice if the model has it, or accepts ids; the default voice when none is requested. Only the
 * provider knows whether a custom id exists: an unknown one fails the job later and is refunded.
 */
export function chooseVoice(model: VoiceChangerModel, requested: string | undefined): VoiceChoice {
  if (requested === undefined) return { ok: true, voice: model.defaultVoice };
  if (model.voices.includes(requested)) return { ok: true, voice: requested };
  if (model.supportsCustomVoiceId && CUSTOM_VOICE_ID.test(requested)) return { ok: true, voice: requested };
  const supportedVoices = [...model.voices];
  const orId = model.supportsCustomVoiceId
    ? ', or a provider voice id of 1 to 60 letters, digits, "_", "-" and "."'
    : '';
  return {
    ok: false,
    message: `The voice is not available for ${model.id}. Supported voices: ${supportedVoices.join(', ')}${orId}.`,
    supportedVoices,
  };
}
