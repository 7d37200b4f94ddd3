/** Voices and languages of the local engine. Each voice speaks every language. */

export interface SpeechVoice {
  /** The engine's speaker variant, with its own formants, breath and intonation. Empty: the language's own speaker. */
  speaker: string;
  /** From 0 to 99; 50 is the speaker's own pitch. */
  pitch: number;
  /** Words per minute at speed 1. */
  rate: number;
  description: string;
}

export const SPEECH_VOICES = {
  narrator: { speaker: '', pitch: 40, rate: 165, description: 'An even, middle voice' },
  deep: { speaker: 'm7', pitch: 8, rate: 150, description: 'A low, slow voice' },
  warm: { speaker: 'm3', pitch: 55, rate: 160, description: 'A lighter male voice' },
  clear: { speaker: 'f2', pitch: 55, rate: 165, description: 'A female voice' },
  bright: { speaker: 'f5', pitch: 85, rate: 180, description: 'A high, quick female voice' },
  child: { speaker: 'f4', pitch: 99, rate: 170, description: 'A small, high voice' },
  machine: { speaker: 'klatt4', pitch: 30, rate: 155, description: 'A synthetic voice that hides nothing' },
  rough: { speaker: 'croak', pitch: 5, rate: 140, description: 'A hoarse, creaking voice' },
  whisper: { speaker: 'whisper', pitch: 50, rate: 150, description: 'A whisper' },
} as const satisfies Record<string, SpeechVoice>;

export function speechVoice(name: string): SpeechVoice | undefined {
  return Object.hasOwn(SPEECH_VOICES, name) ? SPEECH_VOICES[name as keyof typeof SPEECH_VOICES] : undefined;
}

/**
 * Languages whose ISO 639-1 code is also the engine's name. Omitted: usual writing spelled out or read without vowels
 * (Japanese, Hebrew, Thai, Burmese), or unknown numbers (Chuvash, Turkmen).
 */
const SAME_NAME =
  'af am an ar as az ba be bg bn bs ca cs cy da de el eo es et eu fa fi ga gd gn gu hi hr ht hu hy ia id io is it ka kk ' +
  'kl kn ko ku ky la lb lt lv mi mk ml mr ms mt nb ne nl om or pa pl pt qu ro ru sd si sk sl sq sr sv sw ta te tn tr tt ' +
  'ug uk ur uz vi';

const OTHER_NAME = { en: 'en-us', fr: 'fr-fr', no: 'nb', zh: 'cmn' };

const ENGINE_NAMES: ReadonlyMap<string, string> = new Map([
  ...SAME_NAME.split(' ').map((code) => [code, code] as const),
  ...Object.entries(OTHER_NAME),
]);

export const SPEECH_LANGUAGES: readonly string[] = [...ENGINE_NAMES.keys()].sort();

/** The engine's name of the language; undefined if unsupported. */
export function engineLanguage(code: string): string | undefined {
  return ENGINE_NAMES.get(code);
}
