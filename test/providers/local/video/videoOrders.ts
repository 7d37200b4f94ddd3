/** Orders for the local video models, and measurements of their outputs. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaRole } from '../../../../domain/generation/media.ts';
import { createLocalProvider } from '../../../../providers/local/localProvider.ts';
import type { MediaFile, Outcome, VideoRequest } from '../../../../providers/shared/provider.ts';
import { ffmpeg, mediaTools } from '../../../engines/media/recordings.ts';

let folder: string | undefined;
let runs = 0;

/** The path contains characters that are special in filters, as an operator's folder may. */
function outputs(): string {
  folder ??= mkdtempSync(join(tmpdir(), "farebox video:a,b'[c] "));
  return folder;
}

/** The next file of this process gets a new folder. */
export function removeOutputs(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
}

export interface Made {
  outcome: Outcome;
  /** Path of the output, or empty. */
  path: string;
  heartbeats: number;
}

export async function make(order: Partial<VideoRequest>, signal = new AbortController().signal): Promise<Made> {
  const workFolder = join(outputs(), `run ${runs++}`);
  mkdirSync(workFolder);
  let heartbeats = 0;
  const request: VideoRequest = {
    kind: 'video',
    reference: 'job-1',
    upstreamModel: 'ffmpeg-video',
    media: [],
    ...order,
  };
  const heartbeat = () => {
    heartbeats += 1;
  };
  const outcome = await createLocalProvider(mediaTools()).start(request, { workFolder, signal, heartbeat });
  return { outcome, path: outcome.status === 'done' ? outcome.output.path : '', heartbeats };
}

/** Makes an image from an ffmpeg source and filters, as the medium of a role. */
export function picture(role: MediaRole, filters: string, place: { index?: number } = {}): MediaFile {
  const path = join(outputs(), `picture ${runs++}.png`);
  ffmpeg(['-f', 'lavfi', '-i', filters, '-frames:v', '1', path]);
  const { width, height } = streamsOf(path).video ?? {};
  if (width === undefined || height === undefined) throw new Error('no picture was made');
  const described = {
    sizeBytes: 1,
    sha256: '',
    contentType: 'image/png',
    demuxer: 'png_pipe',
    width,
    height,
  };
  return { role, index: place.index ?? 0, kind: 'image', path, ...described };
}

/** Makes a video from ffmpeg arguments, as a source. */
export function video(options: readonly string[], measured: Partial<MediaFile> = {}): MediaFile {
  const path = join(outputs(), `source ${runs++}.mp4`);
  ffmpeg([...options, path]);
  const { video: stream, audio } = streamsOf(path);
  if (stream === undefined) throw new Error('no video was made');
  return {
    ...{ role: 'video', index: 0, kind: 'video', path, sizeBytes: 1, sha256: '', contentType: 'video/mp4' },
    ...{ demuxer: 'mov', width: stream.width, height: stream.height, seconds: stream.seconds },
    ...{ frames: stream.frames, framesPerSecond: stream.frames / stream.seconds },
    hasAudio: audio !== undefined,
    ...measured,
  };
}

interface Stream {
  codec: string;
  width: number;
  height: number;
  /** Counted by decoding. */
  frames: number;
  seconds: number;
  pixelFormat: string;
}

export function streamsOf(path: string): { video?: Stream; audio?: Stream; tags: Record<string, string> } {
  const shown = execFileSync(mediaTools().ffprobePath, [
    ...['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', `file:${path}`],
  ]);
  const { streams, format } = JSON.parse(shown.toString());
  const of = (kind: string): Stream | undefined => {
    const stream = streams.find((each: { codec_type: string }) => each.codec_type === kind);
    if (stream === undefined) return undefined;
    return {
      ...{ codec: stream.codec_name, width: stream.width, height: stream.height },
      ...{ frames: Number(stream.nb_read_frames), seconds: Number(stream.duration) },
      pixelFormat: stream.pix_fmt,
    };
  };
  const [found, audio] = [of('video'), of('audio')];
  return {
    ...(found === undefined ? {} : { video: found }),
    ...(audio === undefined ? {} : { audio }),
    tags: format.tags ?? {},
  };
}

const SIDE = 96;

/** Grey values of one frame, scaled to 96 by 96. */
export function greyOf(path: string, frame = 0, before = 'null'): Uint8Array {
  const filters = `select='eq(n,${frame})',${before},scale=${SIDE}:${SIDE}:flags=area,format=gray`;
  return execFileSync(mediaTools().ffmpegPath, [
    ...['-v', 'error', '-i', `file:${path}`, '-vf', filters, '-frames:v', '1', '-f', 'rawvideo', 'pipe:1'],
  ]);
}

/** Structural similarity of two images by windows of 8 by 8 (Wang et al. 2004): 1 if equal. */
export function similarity(left: Uint8Array, right: Uint8Array): number {
  const scores: number[] = [];
  for (let top = 0; top < SIDE; top += 8) {
    for (let start = 0; start < SIDE; start += 8) scores.push(windowScore(left, right, top * SIDE + start));
  }
  return scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

function windowScore(left: Uint8Array, right: Uint8Array, corner: number): number {
  const places = Array.from({ length: 64 }, (_, at) => corner + (at >> 3) * SIDE + (at & 7));
  const mean = (value: (place: number) => number) =>
    places.reduce((sum, place) => sum + value(place), 0) / places.length;
  const a = (place: number) => left[place] ?? 0;
  const b = (place: number) => right[place] ?? 0;
  const [meanA, meanB] = [mean(a), mean(b)];
  const variance = (of: (place: number) => number, its: number) => mean((place) => (of(place) - its) ** 2);
  const covariance = mean((place) => (a(place) - meanA) * (b(place) - meanB));
  const [c1, c2] = [(0.01 * 255) ** 2, (0.03 * 255) ** 2];
  return (
    ((2 * meanA * meanB + c1) * (2 * covariance + c2)) /
    ((meanA ** 2 + meanB ** 2 + c1) * (variance(a, meanA) + variance(b, meanB) + c2))
  );
}

/** Loudness of a part of the sound track: root mean square, 1 at full scale. */
export function loudness(path: string, [from, to]: readonly [number, number]): number {
  const raw = execFileSync(mediaTools().ffmpegPath, [
    ...['-v', 'error', '-i', `file:${path}`, '-af', `atrim=${from}:${to}`, '-ac', '1', '-f', 'f32le', 'pipe:1'],
  ]);
  const samples = new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length));
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}
