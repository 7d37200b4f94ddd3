/** Checks a speech request against its model's entry, and recognises handles of cloned voices (AUDIO-6, AUDIO-7). */
import { CUSTOM_VOICE_ID } from '../catalogue/chooseVoice.ts';
import type { TtsModel } from '../catalogue/model.ts';
import { type WrongField, wrongField } from '../generation/terms.ts';

/** A letter or digit of any script: a text without one cannot be spoken. */
const SPEAKABLE = /[\p{L}\p{N}]/u;

export function isSpeakable(input: string): boolean {
  return SPEAKABLE.test(input);
}

/** Format of the answer: the requested one, or the model's default. */
export function formatOf<Format extends string>(
  { spec }: TtsModel,
  wished: Format | undefined,
  formats: readonly Format[],
): { ok: true; format: Format } | WrongField {
  const offered = formats.filter((format) => spec.supported_formats?.includes(format) ?? true);
  const format = wished ?? offered.find((each) => each === spec.default_format) ?? offered[0];
  if (format !== undefined && offered.includes(format)) return { ok: true, format };
  return wrongField('response_format', `This model answers ${offered.join(', ')}`);
}

/** Voice names of services: no path, query or control characters. */
const VOICE_NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} _.()'-]{0,511}$/u;

/**
 * Voice of the model, or a possible one: where an entry lists no voices, or accepts voice ids, only the service knows.
 * `voice` undefined: the service's own default.
 */
export function voiceOf(
  { spec }: TtsModel,
  wished: string | undefined,
): { ok: true; voice: string | undefined } | WrongField {
  const { voices, default_voice: usual } = spec;
  if (wished === undefined) return { ok: true, voice: usual ?? voices?.[0] };
  if (wished === usual || voices?.includes(wished)) return { ok: true, voice: wished };
  const isOpen = voices === undefined && VOICE_NAME.test(wished);
  const isOwn = spec.supports_custom_voice_id === true && CUSTOM_VOICE_ID.test(wished);
  if (isOpen || isOwn) return { ok: true, voice: wished };
  const supportedVoices = voices ?? (usual === undefined ? [] : [usual]);
  return { ...wrongField('voice', 'This model does not have this voice'), supportedVoices };
}

const HANDLE = /^vv_[0-9a-f]{32}$/;

export function isVoiceHandle(voice: string): boolean {
  return voice.startsWith('vv_');
}

/** Other handles were never issued and need no look-up. */
export function mayBeHandle(voice: string): boolean {
  return HANDLE.test(voice);
}
