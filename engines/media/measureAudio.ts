/**
 * Length determines the price, so no claim of the file about itself is trusted (PARSE-2): the signature selects the
 * container, its own demuxer and decoders read it, and the decoded samples are counted.
 *
 * A file is refused when it ends inside a page, box, chunk or frame that it announced, or when the decoder finds it
 * damaged. A wrong length field changes nothing: the decoded length counts, and the longest of several readings.
 */
import { stat } from 'node:fs/promises';
import type { AudioFormat } from '../../domain/catalogue/model.ts';
import { ENCODER_PADDING_SECONDS } from '../../domain/pricing.ts';
import type { DecodedAudio } from './decodeAudio.ts';
import { ffmpeg } from './ffmpeg.ts';
import { FORMAT_READINGS, isLossy, type SoundFormat } from './formats.ts';
import type { Inspection } from './inspectFile.ts';
import { inspector } from './inspector.ts';
import type { MediaTools } from './mediaTools.ts';
import type { MediaRefusal } from './refusal.ts';

export interface MeasureRequest<Format extends SoundFormat = AudioFormat> {
  path: string;
  accepted: readonly Format[];
  maxSeconds: number;
  /** Accepts a video and measures its sound only. Default: videos are refused. */
  mayHavePictures?: boolean;
  signal?: AbortSignal;
}

export interface MeasuredAudio<Format extends SoundFormat = AudioFormat> {
  format: Format;
  /** Demuxer that read the file, as ffmpeg names it. */
  demuxer: string;
  contentType: string;
  decodedSeconds: number;
  codec: string;
  /** Whether `decodedSeconds` includes samples that the encoder added at both ends. */
  lossy: boolean;
  sampleRate: number;
  channels: number;
  /** The file is a video, so its sound must be extracted before it is passed on. */
  hasPictures: boolean;
}

interface SoundRefusal extends MediaRefusal {
  code: 'invalid_media' | 'media_too_long';
}

export type MeasureOutcome<Format extends SoundFormat = AudioFormat> =
  | { ok: true; audio: MeasuredAudio<Format> }
  | SoundRefusal;

const MIN_SAMPLE_RATE = 8_000;
const MAX_SAMPLE_RATE = 192_000;
const MAX_CHANNELS = 8;
/** An excerpt of a stream starts, and a joined stream continues, with a few undecodable packets. */
const TOLERATED_SHARE_OF_MP3_PACKETS = 0.02;
const MP3_PACKET_SAMPLES = 1_152;
const PADDED_BY_FRAMES = /^(mp[123]|aac)/;

/** Rejects only on abort or when the tools do not work. */
export async function measureAudio<Format extends SoundFormat>(
  tools: MediaTools,
  request: MeasureRequest<Format>,
): Promise<MeasureOutcome<Format>> {
  const { size } = await stat(request.path);
  if (size === 0) return invalid('The audio file is empty.');
  const inspection = await inspector.inspect('audio', request.path);
  request.signal?.throwIfAborted();
  if (inspection === undefined) return invalid('The audio file could not be read.');
  const { structure } = inspection;
  const format = request.accepted.find((accepted) => accepted === inspection.format);
  if (format === undefined) return notAccepted(request.accepted);
  if (structure.cut) return invalid('The audio file is truncated.');
  if (structure.foreign) return invalid('The audio file could not be read.');
  const decoded = await decode(tools, request, { format, falseLength: structure.falseLength === true });
  request.signal?.throwIfAborted();
  const toTheEnd = structure.falseLength === true;
  const { maxSeconds, mayHavePictures = false } = request;
  return judge(decoded, { format, maxSeconds, mayHavePictures, toTheEnd });
}

type DecodeOptions = Pick<MeasureRequest, 'path' | 'maxSeconds' | 'signal'>;

interface SoundFile {
  format: NonNullable<Inspection['format']>;
  falseLength: boolean;
}

async function decode(tools: MediaTools, request: DecodeOptions, reading: SoundFile): Promise<DecodedAudio> {
  const { demuxer, demuxerOptions, decoders } = FORMAT_READINGS[reading.format];
  const toTheEnd = reading.format === 'wav' && reading.falseLength ? ['-ignore_length', '1'] : [];
  return ffmpeg.decodeAudio({
    ffmpegPath: tools.ffmpegPath,
    path: request.path,
    demuxer,
    demuxerOptions: [...demuxerOptions, ...toTheEnd],
    decoders,
    maxSeconds: request.maxSeconds + 1,
    // Decoding is usually 1,000 times faster than real time. A tenth of that on a busy machine is still in time.
    timeoutMs: Math.min(120_000, 20_000 + request.maxSeconds * 100),
    signal: request.signal,
  });
}

interface Limits<Format extends SoundFormat> {
  format: Format;
  maxSeconds: number;
  mayHavePictures: boolean;
  /** Set when the length field was ignored: the last packet may then be incomplete. */
  toTheEnd: boolean;
}

function judge<Format extends SoundFormat>(decoded: DecodedAudio, limits: Limits<Format>): MeasureOutcome<Format> {
  const audioStreams = decoded.streams.filter((kind) => kind === 'audio').length;
  const hasPictures = decoded.streams.includes('video');
  if (hasPictures && !limits.mayHavePictures) return invalid('The file has a video track; send audio only.');
  if (decoded.streams.length === 0) return invalid('The audio file could not be read.');
  if (audioStreams === 0) return invalid('The file has no audio track.');
  if (audioStreams > 1) return invalid('The file has more than one audio track.');
  if (!isSane(decoded)) return invalid('The audio file could not be read.');
  if (decoded.end === 'stopped') return tooLong(limits.maxSeconds);
  if (decoded.end === 'timed_out') return { ...invalid('The audio takes too long to decode.'), isTooComplex: true };
  if (decoded.end !== 'finished') return invalid('The audio file could not be read.');
  const damaged = limits.toTheEnd ? decoded.failedPackets > 1 : decoded.broken || tooManyFailures(decoded);
  if (damaged) return invalid('The audio file is damaged or truncated.');
  return { ok: true, audio: { ...measured(decoded, limits.format), hasPictures } };
}

function isSane({ sampleRate, channels, seconds }: DecodedAudio): boolean {
  const rateFits = sampleRate >= MIN_SAMPLE_RATE && sampleRate <= MAX_SAMPLE_RATE;
  return rateFits && channels >= 1 && channels <= MAX_CHANNELS && seconds > 0;
}

function tooManyFailures({ failedPackets, codec, seconds, sampleRate }: DecodedAudio): boolean {
  if (!codec.startsWith('mp')) return failedPackets > 0;
  const packets = (seconds * sampleRate) / MP3_PACKET_SAMPLES;
  return failedPackets > Math.max(2, packets * TOLERATED_SHARE_OF_MP3_PACKETS);
}

function measured<Format extends SoundFormat>(
  decoded: DecodedAudio,
  format: Format,
): Omit<MeasuredAudio<Format>, 'hasPictures'> {
  const { demuxer, contentType } = FORMAT_READINGS[format];
  const lossy = isLossy(decoded.codec);
  const { codec, sampleRate, channels } = decoded;
  const decodedSeconds = PADDED_BY_FRAMES.test(codec) ? withoutLongFrames(decoded) : decoded.seconds;
  return { format, demuxer, contentType, decodedSeconds, codec, lossy, sampleRate, channels };
}

/**
 * Encoders pad with whole frames. At telephone rates, two frames exceed the padding that the price allows, so the
 * excess is subtracted here. It depends only on the decoded rate, never on the file's claims.
 */
function withoutLongFrames({ seconds, sampleRate }: DecodedAudio): number {
  const padding = (2 * MP3_PACKET_SAMPLES) / sampleRate;
  return Math.max(1 / sampleRate, seconds - Math.max(0, padding - ENCODER_PADDING_SECONDS));
}

function invalid(message: string): SoundRefusal {
  return { ok: false, code: 'invalid_media', message };
}

function notAccepted(accepted: readonly SoundFormat[]): SoundRefusal {
  return invalid(`The audio format is not accepted. Accepted formats: ${accepted.join(', ')}.`);
}

function tooLong(maxSeconds: number): SoundRefusal {
  return { ok: false, code: 'media_too_long', message: `The audio is longer than ${maxSeconds} seconds.` };
}

export interface VerifiedAudio {
  format: AudioFormat;
  contentType: string;
  /** Present when the structure contains it. */
  seconds?: number;
}

/**
 * Checks by signature and structure that a provider delivered a whole recording and not, for example, an HTML page.
 * Undefined when a client could not use it.
 */
export async function verifyAudio(path: string, signal?: AbortSignal): Promise<VerifiedAudio | undefined> {
  const inspection = await inspector.inspect('audio', path);
  signal?.throwIfAborted();
  if (inspection === undefined) return undefined;
  const { format, structure } = inspection;
  // AIFF is never requested from providers.
  if (format === undefined || format === 'aiff') return undefined;
  if (structure.cut || structure.foreign) return undefined;
  const { seconds, tracks } = structure;
  // An MP4 may contain a film, or no track at all.
  if (tracks && (tracks.audio === 0 || tracks.video > 0)) return undefined;
  return {
    format,
    contentType: FORMAT_READINGS[format].contentType,
    ...(seconds === undefined ? {} : { seconds }),
  };
}
