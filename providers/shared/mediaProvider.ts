/**
 * Interface of synchronous media providers: images, transcripts, speech. An adapter is stateless, calls its service
 * once, never retries, and throws UpstreamFailure if there is no result. It has the operations that its service has.
 */
import type { Quality } from '../../domain/catalogue/specs.ts';
import type { AspectRatio, ImageFormat } from '../../domain/images/images.ts';

export interface MediaCallContext {
  /** A private folder for the results of this call; the caller removes it. */
  workFolder: string;
  /** Aborted at the deadline and when the client leaves. */
  signal: AbortSignal;
}

interface OrderBase {
  /** The provider's name for the model. */
  upstreamModel: string;
  /** Opaque name of the end user, for services that require one. */
  endUser: string;
}

/** A checked image within the size limits. Read-only. */
export interface ImageFile {
  path: string;
  contentType: string;
  /** In pixels, after the Exif rotation. */
  width: number;
  height: number;
}

export interface ImageEdit extends OrderBase {
  prompt: string;
  /** The base first, then layers or masks. */
  images: readonly ImageFile[];
  /** Undefined: the model offers no choice. */
  aspectRatio?: AspectRatio;
  /** True: not requested, but derived from the base. */
  isRatioInferred?: boolean;
  /** Requested size in pixels, for services that take one. Others use the ratio and the tier. */
  width?: number;
  height?: number;
  /** A tier of the model ("1K"); undefined: it has none. */
  resolution?: string;
  quality?: Quality;
  format: ImageFormat;
  safeMode: boolean;
  /** Disables the service's reasoning about the prompt. */
  skipsThinking: boolean;
}

export interface ImageOrder extends OrderBase {
  prompt: string;
  negativePrompt?: string;
  /** In pixels; both or neither. */
  width?: number;
  height?: number;
  aspectRatio?: string;
  resolution?: string;
  quality?: Quality;
  /** Prompt adherence, above 0 and at most 20. */
  guidance?: number;
  steps?: number;
  seed?: number;
  count: number;
  format: ImageFormat;
  safeMode: boolean;
  /** An entry of GET /image/styles. */
  style?: string;
  styleReferences: readonly { image: ImageFile; strength: number }[];
  /** From 0 to 100. */
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
  /** Factor per side. The result may be smaller if the service supports whole factors only. */
  scale: number;
  /** From 0 to 0.02: how much detail may be invented. */
  creativity: number;
}

export interface MadeImage {
  /** In the work folder. */
  path: string;
  contentType: string;
  /** The service classified it as adult and blurred it. */
  isBlurred?: boolean;
}

/** A decoded recording. Read-only. */
export interface RecordingFile {
  path: string;
  contentType: string;
  /** ffmpeg's name of the demuxer that read it. */
  demuxer: string;
  /** Measured by decoding. */
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
  /** A voice of the model, or a cloned one of the service. */
  voice?: string;
  format: SpeechFormat;
  /** 1 is the voice's normal speed. */
  speed: number;
  /** As in the request: "en", "English". */
  language?: string;
  /** Description of the wanted tone. */
  style?: string;
  temperature?: number;
  topP?: number;
}

/** Already started: a failure before the first byte is an ordinary one. A later failure throws UpstreamFailure. */
export interface Speech {
  bytes: AsyncIterable<Buffer>;
}

export interface VoiceSample extends OrderBase {
  recording: RecordingFile;
}

export interface MediaProvider {
  /**
   * True for the local library, which reads accepted files as they are and returns files ready to send. For all others,
   * sources and results are normalised (upright, 8 bits, no metadata).
   */
  readonly readsAll?: boolean;
  /** Throws FareboxError if the edit is known to be impossible before any charge. */
  checkEdit?(edit: ImageEdit): void;
  editImage?(edit: ImageEdit, context: MediaCallContext): Promise<MadeImage>;
  /** Returns the ordered number of images. */
  makeImages?(order: ImageOrder, context: MediaCallContext): Promise<MadeImage[]>;
  cutOut?(cutout: Cutout, context: MediaCallContext): Promise<MadeImage>;
  enlarge?(enlargement: Enlargement, context: MediaCallContext): Promise<MadeImage>;
  /** Throws FareboxError if the transcription is known to be impossible before any charge. */
  checkTranscription?(order: TranscriptionOrder): void;
  transcribe?(order: TranscriptionOrder, context: MediaCallContext): Promise<Transcript>;
  /** Throws FareboxError if the speech is known to be impossible before any charge. */
  checkSpeech?(order: SpeechOrder): void;
  speak?(order: SpeechOrder, context: MediaCallContext): Promise<Speech>;
  /** Returns the service's name for the voice, for use in speech orders. */
  cloneVoice?(sample: VoiceSample, context: MediaCallContext): Promise<string>;
  close?(): Promise<void>;
}
