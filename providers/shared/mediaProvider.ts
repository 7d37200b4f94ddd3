/**
 * What every provider of media speaks that are made while the client waits: pictures, transcripts, speech. An adapter is
 * stateless, calls its service once, never retries, and throws UpstreamFailure for whatever is no result. It has the
 * operations that its service has.
 */
import type { Quality } from '../../domain/catalogue/specs.ts';
import type { AspectRatio, ImageFormat } from '../../domain/images/images.ts';

export interface MediaCallContext {
  /** A private folder for this call; results are put there, and whoever called removes it. */
  workFolder: string;
  /** Aborted at the deadline and when nobody waits any more. */
  signal: AbortSignal;
}

interface OrderBase {
  /** The provider's own name for the model. */
  upstreamModel: string;
  /** A word for who asks, for services that want one; it names nobody. */
  endUser: string;
}

/** A picture that was looked at and found within its bounds. It may be read, not changed. */
export interface ImageFile {
  path: string;
  contentType: string;
  /** In pixels, as shown: after the rotation that its Exif data ask for. */
  width: number;
  height: number;
}

export interface ImageEdit extends OrderBase {
  prompt: string;
  /** The base first; the others are layers or masks. */
  images: readonly ImageFile[];
  /** Undefined: the model has no choice of them. */
  aspectRatio?: AspectRatio;
  /** True: nobody asked for that ratio, it is the closest to the base's. */
  isRatioInferred?: boolean;
  /** A tier of the model ("1K"); undefined: it has none. */
  resolution?: string;
  quality?: Quality;
  format: ImageFormat;
  safeMode: boolean;
  /** The service shall not think about the prompt first. */
  skipsThinking: boolean;
}

export interface ImageOrder extends OrderBase {
  prompt: string;
  negativePrompt?: string;
  /** In pixels; both or none. */
  width?: number;
  height?: number;
  aspectRatio?: string;
  resolution?: string;
  quality?: Quality;
  /** How closely the prompt is followed, above 0, at most 20. */
  guidance?: number;
  steps?: number;
  seed?: number;
  count: number;
  format: ImageFormat;
  safeMode: boolean;
  /** An entry of GET /image/styles. */
  style?: string;
  styleReferences: readonly { image: ImageFile; strength: number }[];
  /** 0–100. */
  loraStrength?: number;
  hidesWatermark: boolean;
  searchesWeb: boolean;
  skipsThinking: boolean;
}

export interface Cutout extends OrderBase {
  image: ImageFile;
}

export interface Enlargement extends OrderBase {
  image: ImageFile;
  /** Of each side; the result may be a little smaller where the service knows only whole factors. */
  scale: number;
  /** 0–0.02: how much may be invented. */
  creativity: number;
}

export interface MadeImage {
  /** In the work folder. */
  path: string;
  contentType: string;
  /** The service judged it adult and blurred it. */
  isBlurred?: boolean;
}

/** A recording that was decoded. It may be read, not changed. */
export interface RecordingFile {
  path: string;
  contentType: string;
  /** ffmpeg's name of the demuxer that read it. */
  demuxer: string;
  /** Decoded. */
  seconds: number;
}

export interface TranscriptionOrder extends OrderBase {
  recording: RecordingFile;
  /** ISO 639-1. */
  language?: string;
  timestamps: boolean;
}

/** Times in seconds from the start of the recording. */
export interface Span {
  start: number;
  end: number;
}

export interface Transcript {
  text: string;
  words?: readonly ({ word: string } & Span)[];
  segments?: readonly ({ text: string } & Span)[];
  chars?: readonly ({ char: string } & Span)[];
}

export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

export interface SpeechOrder extends OrderBase {
  text: string;
  /** A voice of the model, or one of the service's own. */
  voice?: string;
  format: SpeechFormat;
  /** 1 is the voice's own. */
  speed: number;
  /** As the request says it: "en", "English". */
  language?: string;
  /** How it shall sound, in words. */
  style?: string;
  temperature?: number;
  topP?: number;
}

/** Begun, so that a failure before the first byte is still an ordinary one. A stream that breaks throws UpstreamFailure. */
export interface Speech {
  bytes: AsyncIterable<Buffer>;
}

export interface VoiceSample extends OrderBase {
  recording: RecordingFile;
}

export interface MediaProvider {
  /**
   * True: our own library, which reads what we accept as it is and answers files that can be sent as they are. The
   * sources of all others are made plain first (upright, 8 bits, without notes), and so are their results.
   */
  readonly readsAll?: boolean;
  /** Throws FareboxError where it is known before any charge that the edit cannot be made. */
  checkEdit?(edit: ImageEdit): void;
  editImage?(edit: ImageEdit, context: MediaCallContext): Promise<MadeImage>;
  /** As many as were ordered. */
  makeImages?(order: ImageOrder, context: MediaCallContext): Promise<MadeImage[]>;
  cutOut?(cutout: Cutout, context: MediaCallContext): Promise<MadeImage>;
  enlarge?(enlargement: Enlargement, context: MediaCallContext): Promise<MadeImage>;
  /** Throws FareboxError where it is known before any charge that the recording cannot be transcribed. */
  checkTranscription?(order: TranscriptionOrder): void;
  transcribe?(order: TranscriptionOrder, context: MediaCallContext): Promise<Transcript>;
  /** Throws FareboxError where it is known before any charge that the text cannot be spoken. */
  checkSpeech?(order: SpeechOrder): void;
  speak?(order: SpeechOrder, context: MediaCallContext): Promise<Speech>;
  /** Answers the service's own name for the voice, to be used in orders of speech. */
  cloneVoice?(sample: VoiceSample, context: MediaCallContext): Promise<string>;
  close?(): Promise<void>;
}
