/**
 * Length determines the price, so every picture and sample of the first tracks is decoded. Counting packets and decoding
 * only key frames would be several times cheaper. But a track whose other packets are empty, or change the picture size,
 * would then be measured by its claims. Three things keep a full decode affordable: a header with excessive values ends
 * it early, it stops at the first picture past the maximum length, and purely visual filters are skipped.
 *
 * Only the file tells how long a picture is shown, so several readings are taken: times of the decoded pictures, decoded
 * sound, and the longest length in any header field. When a header claims more than was decoded, the larger value counts
 * (PARSE-3), because a provider may bill by it.
 */
import { stat } from 'node:fs/promises';
import type { DecodedPictures } from './decodePictures.ts';
import { ffmpeg } from './ffmpeg.ts';
import { inspector } from './inspector.ts';
import type { MediaTools } from './mediaTools.ts';
import { invalidMedia, type MediaRefusal, refuseSize, tooLongRefusal } from './refusal.ts';
import type { VideoContainer, VideoStructure, VideoTrack } from './structure/videoStructure.ts';

/** Decoding settings of a container. AVI and MPEG streams are refused: hidden playlists, no certain end. */
interface VideoReading {
  demuxer: string;
  demuxerOptions: readonly string[];
  contentType: string;
}

const MOVIE = { demuxer: 'mov', demuxerOptions: ['-ignore_editlist', '1', '-ignore_chapters', '1'] };
const MATROSKA = { demuxer: 'matroska', demuxerOptions: [] };

const VIDEO_READINGS: Record<VideoContainer, VideoReading> = {
  mp4: { ...MOVIE, contentType: 'video/mp4' },
  mov: { ...MOVIE, contentType: 'video/quicktime' },
  webm: { ...MATROSKA, contentType: 'video/webm' },
  mkv: { ...MATROSKA, contentType: 'video/x-matroska' },
};

/** Decoders of the formats that cameras, phones, screen recorders and editors write. */
const VIDEO_DECODERS = [
  ...['h264', 'hevc', 'libdav1d', 'libaom-av1', 'av1', 'vp8', 'libvpx', 'vp9', 'libvpx-vp9'],
  ...['mpeg4', 'prores', 'mjpeg'],
  ...['aac', 'alac', 'opus', 'libopus', 'vorbis', 'flac', 'mp3float', 'mp3', 'ac3', 'eac3'],
  ...['pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_f32le', 'pcm_mulaw', 'pcm_alaw'],
];

export interface VideoRequest {
  path: string;
  maxBytes: number;
  minSeconds?: number | undefined;
  maxSeconds: number;
  /** Width times height. */
  maxPixels: number;
  /** Default: derived from `maxSeconds`. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

interface MeasuredVideo {
  contentType: string;
  /** Demuxer that read the file, as ffmpeg names it. */
  demuxer: string;
  /** As shown, after rotation. */
  width: number;
  height: number;
  seconds: number;
  /** Number of decoded pictures, in total and per decoded second. */
  frames: number;
  framesPerSecond: number;
  hasAudio: boolean;
  /** Decoded length of the sound. 0 without sound. */
  audioSeconds: number;
}

export type VideoOutcome = { ok: true; video: MeasuredVideo } | MediaRefusal;

/** Sound encoders add padding at both ends, and two tracks never end at exactly the same time. */
const TOLERATED_SECONDS = 0.15;
const TOLERATED_SHARE = 0.02;
const MAX_TOLERATED_SECONDS = 1;
/** Slow-motion cameras record this many. A higher rate packs the frames of a long video into a short one. */
const MAX_FRAMES_PER_SECOND = 240;
/** A single frame is an image. */
const MIN_FRAMES = 2;
/** An excerpt of a stream starts with a few undecodable packets. */
const TOLERATED_FAILURES = 2;

/** Rejects only on abort or when the tools do not work. */
export async function measureVideo(tools: MediaTools, request: VideoRequest): Promise<VideoOutcome> {
  const { size } = await stat(request.path);
  const unfit = refuseSize('The video', size, request.maxBytes);
  if (unfit) return unfit;
  const structure = await inspector.inspect('video', request.path);
  request.signal?.throwIfAborted();
  if (structure === undefined)
    return invalidMedia('The video format is not accepted. Accepted formats: MP4, MOV, WebM, MKV.');
  const [track] = structure.videoTracks;
  const refused = refuseStructure(structure, request);
  if (refused || track === undefined) return refused ?? invalidMedia('The file has no video track.');
  const decoded = await decode(tools, request, structure);
  request.signal?.throwIfAborted();
  return refuseDecoded(decoded, request) ?? judge(decoded, structure, { ...request, track });
}

function refuseStructure(structure: VideoStructure, request: VideoRequest): MediaRefusal | undefined {
  if (structure.cut) return invalidMedia('The video is truncated.');
  if (structure.foreign) return invalidMedia('The file is damaged, or not only a video.');
  const [track, second] = structure.videoTracks;
  if (track === undefined) return invalidMedia('The file has no video track.');
  if (second !== undefined) return invalidMedia('The file has more than one video track.');
  if (track.width * track.height > request.maxPixels) return tooLarge(request);
  return isTooLong(structure.declaredSeconds ?? 0, request)
    ? tooLongRefusal('The video', request.maxSeconds)
    : undefined;
}

function decode(tools: MediaTools, request: VideoRequest, { container }: VideoStructure) {
  const { demuxer, demuxerOptions } = VIDEO_READINGS[container];
  return ffmpeg.decodePictures({
    ...{ ffmpegPath: tools.ffmpegPath, path: request.path, demuxer, demuxerOptions },
    ...{ decoders: VIDEO_DECODERS, maxPixels: request.maxPixels },
    maxPictures: request.maxSeconds * MAX_FRAMES_PER_SECOND,
    maxSeconds: request.maxSeconds + MAX_TOLERATED_SECONDS,
    // Decoding is faster than real time even for large pictures. Half of real time is still in time.
    timeoutMs: request.timeoutMs ?? Math.min(600_000, 30_000 + request.maxSeconds * 2_000),
    signal: request.signal,
  });
}

function refuseDecoded(decoded: DecodedPictures, request: VideoRequest): MediaRefusal | undefined {
  if (decoded.over === 'seconds') return tooLongRefusal('The video', request.maxSeconds);
  if (decoded.over === 'pictures') return tooManyFrames();
  if (decoded.end === 'timed_out')
    return { ...invalidMedia('The video takes too long to decode.'), isTooComplex: true };
  if (decoded.end !== 'finished') return invalidMedia('The video could not be decoded.');
  if (decoded.pictures === 0) return invalidMedia('The video has no picture that could be decoded.');
  if (decoded.pictures < MIN_FRAMES) return invalidMedia('The video is a single picture.');
  if (decoded.sizeChanges) return invalidMedia('The size of the picture changes within the video.');
  const isDamaged = decoded.broken || decoded.failedPackets > TOLERATED_FAILURES;
  return isDamaged ? invalidMedia('The video is damaged or truncated.') : undefined;
}

type TrackRequest = VideoRequest & { track: VideoTrack };

function judge(decoded: DecodedPictures, structure: VideoStructure, request: TrackRequest): VideoOutcome {
  const seconds = secondsOf(decoded, structure.declaredSeconds ?? 0);
  if (isTooLong(seconds, request)) return tooLongRefusal('The video', request.maxSeconds);
  if (seconds < (request.minSeconds ?? 0) - TOLERATED_SECONDS)
    return invalidMedia(`The video is shorter than ${request.minSeconds} seconds.`);
  const framesPerSecond = decoded.pictures / decoded.pictureSeconds;
  if (!(framesPerSecond <= MAX_FRAMES_PER_SECOND)) return tooManyFrames();
  if (structure.audioTracks > 0 && !decoded.hasSound)
    return invalidMedia('The sound of the video could not be decoded.');
  const { width, height } = decoded;
  if (width * height > request.maxPixels) return tooLarge(request);
  const { contentType, demuxer } = VIDEO_READINGS[structure.container];
  const shown = request.track.quarterTurned ? { width: height, height: width } : { width, height };
  const sound = { hasAudio: decoded.hasSound, audioSeconds: decoded.soundSeconds };
  const length = { seconds, frames: decoded.pictures, framesPerSecond };
  return { ok: true, video: { contentType, demuxer, ...shown, ...length, ...sound } };
}

/** Length of the pictures, or the largest other reading if it is notably longer. */
function secondsOf({ pictureSeconds, soundSeconds }: DecodedPictures, declaredSeconds: number): number {
  const larger = Math.max(soundSeconds, declaredSeconds);
  const share = Math.min(MAX_TOLERATED_SECONDS, pictureSeconds * TOLERATED_SHARE);
  return larger > pictureSeconds + Math.max(TOLERATED_SECONDS, share) ? larger : pictureSeconds;
}

function isTooLong(seconds: number, { maxSeconds }: VideoRequest): boolean {
  return seconds > maxSeconds + TOLERATED_SECONDS;
}

function tooLarge({ maxPixels }: VideoRequest): MediaRefusal {
  return invalidMedia(`The picture of the video has more than ${maxPixels} pixels.`);
}

function tooManyFrames(): MediaRefusal {
  return invalidMedia(`The video has more than ${MAX_FRAMES_PER_SECOND} pictures per second.`);
}

export interface VerifiedVideo {
  contentType: string;
  /** Present when the structure contains it. For display, never for billing. */
  seconds?: number;
  /** As shown, after rotation. */
  width: number;
  height: number;
  hasAudio: boolean;
}

/**
 * Checks by signature and structure that a provider delivered a whole video. Two gigabytes take a few thousand reads.
 * Undefined when a client could not use it.
 */
export async function verifyVideo(path: string, signal?: AbortSignal): Promise<VerifiedVideo | undefined> {
  const structure = await inspector.inspect('video', path);
  signal?.throwIfAborted();
  const [track] = structure?.videoTracks ?? [];
  if (structure === undefined || track === undefined || structure.cut || structure.foreign) return undefined;
  const { width, height, quarterTurned } = track;
  if (width === 0 || height === 0) return undefined;
  return {
    contentType: VIDEO_READINGS[structure.container].contentType,
    ...(structure.declaredSeconds === undefined ? {} : { seconds: structure.declaredSeconds }),
    ...(quarterTurned ? { width: height, height: width } : { width, height }),
    hasAudio: structure.audioTracks > 0,
  };
}
