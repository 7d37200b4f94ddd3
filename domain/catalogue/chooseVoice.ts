/** Chooses the voice of an order before the charge (AUDIO-2). */
import type { VoiceChangerModel } from './model.ts';

export type VoiceChoice = { ok: true; voice: string } | { ok: false; message: string; supportedVoices: string[] };

/**
 * A provider's voice id: 1 to 60 characters of what such ids are made of. It becomes a part of a URL at the provider,
 * so nothing that could mean a path, a query or a control character is let through.
 */
export const CUSTOM_VOICE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$/;

/**
 * The requested voice if the model has it, or may be asked for it by id; the default voice when none is requested.
 * Whether a custom id exists only its provider knows: an unknown one fails the job later and is refunded.
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
