/**
 * Audio order with all defaults (AUDIO-1), the same for quote and provider. Members that the model does not have are
 * absent.
 */
export interface AudioOrder {
  kind: 'audio';
  /** Trimmed; for speech models the text to speak. */
  prompt: string;
  lyrics?: string;
  /** Whole seconds; absent when the model has no choice of lengths. */
  durationSeconds?: number;
  forceInstrumental?: boolean;
  /** The service writes the lyrics from the prompt. */
  lyricsOptimizer?: boolean;
  /** The music loops. */
  loop?: boolean;
  voice?: string;
  /** ISO 639-1, lower case. */
  languageCode?: string;
  /** 1: the normal speed of the voice. */
  speed?: number;
}
