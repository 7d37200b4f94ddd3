/** The voices that the local engine speaks with, each in every language. */

export interface SpeechVoice {
  /** The engine's speaker, which has formants, breath and intonation of its own; empty for the language's own speaker. */
  speaker: string;
  /** 0 to 99; 50 is the speaker's own. */
  pitch: number;
  /** Words a minute at speed 1. */
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
