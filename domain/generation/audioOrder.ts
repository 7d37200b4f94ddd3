/**
 * Audio order with every default filled in (AUDIO-1): what is quoted is what is sent. A member that the model does not
 * have is absent.
 */
export interface AudioOrder {
  kind: 'audio';
  /** Trimmed; of models that speak, the words to be spoken. */
  prompt: string;
  lyrics?: string;
  /** Whole seconds; absent where the model has no lengths to choose from. */
  durationSeconds?: number;
  forceInstrumental?: boolean;
  /** The service writes lyrics of its own from the prompt. */
  lyricsOptimizer?: boolean;
  /** The end fits the beginning. */
  loop?: boolean;
  voice?: string;
  /** ISO 639-1, lower case. */
  languageCode?: string;
  /** 1 is the voice's own. */
  speed?: number;
}
