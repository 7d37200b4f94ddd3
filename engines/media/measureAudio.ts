/**
 * Length is money, so nothing that a file says about itself is believed (PARSE-2): the signature names the container,
 * the container's own demuxer and decoders read it, and the decoded samples are counted.
 *
 * A file is refused if it is cut, that is, ends inside a page, box, chunk or frame that it announced, or if the decoder
 * finds it broken. A length field that is merely wrong, in either direction, changes nothing: the decoded length
 * counts, and of several readings the longest.
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
  /** Of a video the sound counts, and the pictures are not looked at; otherwise it is refused. */
  mayHavePictures?: boolean;
  signal?: AbortSignal;
}

export interface MeasuredAudio<Format extends SoundFormat = AudioFormat> {
  format: Format;
  /** ffmpeg's name of the demuxer that read it. */
  demuxer: string;
  contentType: string;
  decodedSeconds: number;
  codec: string;
  /** True when `decodedSeconds` includes what the encoder added at both ends. */
  lossy: boolean;
  sampleRate: number;
  channels: number;
  /** The file is a video: what is passed on needs its sound taken out. */
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
/** A stream that was cut out of a longer one starts, and a joined one goes on, with a few undecodable packets. */
const TOLERATED_SHARE_OF_MP3_PACKETS = 0.02;
const MP3_PACKET_SAMPLES = 1_152;
const PADDED_BY_FRAMES = /^(mp[123]|aac)/;

/** Throws only when it was aborted or the tools themselves do not work. */
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
    // A thousand times faster than it plays is usual; a tenth of that on a busy machine is still in time.
    timeoutMs: Math.min(120_000, 20_000 + request.maxSeconds * 100),
    signal: request.signal,
  });
}

interface Limits<Format extends SoundFormat> {
  format: Format;
  maxSeconds: number;
  mayHavePictures: boolean;
  /** Read to the end of the file against its own word: the last packet may then be an odd piece. */
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
 * Encoders pad by whole frames, and at telephone rates two frames last longer than what the price takes off: the rest is
 * taken off here. It depends on the decoded rate alone, never on what the file says.
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
  /** Where the structure tells it. */
  seconds?: number;
}

/**
 * Whether what a provider delivered is a whole recording, by signature and structure; a page of HTML is not. Undefined: not a
 * recording that a client could use.
 */
export async function verifyAudio(path: string, signal?: AbortSignal): Promise<VerifiedAudio | undefined> {
  const inspection = await inspector.inspect('audio', path);
  signal?.throwIfAborted();
  if (inspection === undefined) return undefined;
  const { format, structure } = inspection;
  // No provider is asked for AIFF.
  if (format === undefined || format === 'aiff') return undefined;
  if (structure.cut || structure.foreign) return undefined;
  const { seconds, tracks } = structure;
  // The box of an MP4 may hold a film, or nothing at all.
  if (tracks && (tracks.audio === 0 || tracks.video > 0)) return undefined;
  return {
    format,
    contentType: FORMAT_READINGS[format].contentType,
    ...(seconds === undefined ? {} : { seconds }),
  };
}
