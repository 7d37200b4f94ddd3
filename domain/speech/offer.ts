/**
 * Compares an order of speech with the entry of its model; also reads the handles of cloned voices (AUDIO-6, AUDIO-7).
 */
import { CUSTOM_VOICE_ID } from '../catalogue/chooseVoice.ts';
import type { TtsModel } from '../catalogue/model.ts';
import { type WrongField, wrongField } from '../generation/terms.ts';

/** A letter or a digit of any script: without one there is nothing to be said. */
const SPEAKABLE = /[\p{L}\p{N}]/u;

export function isSpeakable(input: string): boolean {
  return SPEAKABLE.test(input);
}

/** The format that the answer has; `format` is one of all that there are. */
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

/** What services call their voices: nothing that could mean a path or a query, nor a control character. */
const VOICE_NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} _.()'-]{0,511}$/u;

/**
 * A voice of the model, or what may be one: where an entry names no voices, or takes those of its service by id, only the
 * service knows. Undefined: the service's own choice.
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

/** Others were never given out: nothing needs to be looked up. */
export function mayBeHandle(voice: string): boolean {
  return HANDLE.test(voice);
}
