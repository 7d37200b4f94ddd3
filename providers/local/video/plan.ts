/** Plan of a video order: parts as filter graphs, a sound, and text files. */

import { createHash } from 'node:crypto';
import type { MediaRole } from '../../../domain/generation/media.ts';
import type { PixelSize } from '../../../domain/images/images.ts';
import type { MediaFile, VideoRequest } from '../../shared/provider.ts';
import { FRAMES_PER_SECOND, frameSize } from './frames.ts';
import { pictureClip, slowZoom } from './picture.ts';
import { type Pictures, pictureShots } from './shots.ts';
import { type TextFile, type TitledClip, titledClip } from './titles.ts';

export interface Part {
  frames: number;
  /** Input 0 of the graph. */
  picture?: MediaFile;
  /** End in `[out]`. */
  chains: readonly string[];
}

export interface VideoPlan {
  size: PixelSize;
  frames: number;
  /** Made one after another, so that memory does not grow with their number. */
  parts: readonly Part[];
  /** Undefined if no sound is wanted. The chain ends in `[sound]`; `track` is the input after the parts. */
  sound?: { track?: MediaFile; chain: string };
  /** Files to write before the runs. */
  files: readonly TextFile[];
}

const MAX_SECONDS = 30;
const DEFAULT_SECONDS = 5;

/** A string is the refusal for the client. `pathOf` returns the path for a file name. */
export function planVideo(request: VideoRequest, pathOf: (name: string) => string): VideoPlan | string {
  const { durationSeconds: seconds = DEFAULT_SECONDS, prompt = '' } = request;
  if (!(seconds >= 1 && seconds <= MAX_SECONDS)) return `duration must be 1 to ${MAX_SECONDS} seconds.`;
  const pictures = picturesOf(request);
  if (typeof pictures === 'string') return pictures;
  const size = frameSize(request, measured(pictures));
  if (size === undefined) return 'The resolution or the aspect_ratio is not one of this model.';
  const frames = Math.round(seconds * FRAMES_PER_SECOND);
  const parts = pictureParts(request, { pictures, size, frames });
  const seen = parts.length > 0 ? { parts, files: [] } : titledPart({ prompt, size, frames, pathOf });
  const sound = request.audio === false ? {} : { sound: soundOf(request, frames / FRAMES_PER_SECOND) };
  return { size, frames, ...seen, ...sound };
}

function titledPart(clip: TitledClip): Pick<VideoPlan, 'parts' | 'files'> {
  const { chains, files } = titledClip(clip);
  return { parts: [{ frames: clip.frames, chains }], files };
}

function soundOf({ media, prompt = '' }: VideoRequest, seconds: number) {
  const track = media.find(({ role }) => role === 'audio');
  return track === undefined ? { chain: chord(prompt, seconds) } : { track, chain: sourceSoundFilter(1, seconds) };
}

function picturesOf({ media, keyframes = [], cameraTrajectory }: VideoRequest): Pictures | string {
  const of = (role: MediaRole) =>
    media.filter((medium) => medium.role === role).sort((left, right) => left.index - right.index);
  const [[image], [endImage]] = [of('image'), of('end_image')];
  const scenes = [...of('scene_image'), ...of('reference_image')];
  const framed = of('keyframe').map((picture) => ({
    picture,
    frame: keyframes[picture.index]?.frameIndex ?? 0,
  }));
  if (framed.length > 0 && scenes.length > 0) {
    return 'keyframes say what is seen when: they cannot be combined with reference or scene images.';
  }
  if (cameraTrajectory !== undefined && (framed.length > 0 || scenes.length > 0 || endImage !== undefined)) {
    return 'camera_trajectory moves over one picture: it can be combined with image_url only.';
  }
  if (cameraTrajectory !== undefined && image === undefined) return 'camera_trajectory needs image_url.';
  return { image, endImage, scenes, keyframes: framed };
}

/** Image that sets the frame's ratio if the order does not. */
function measured({ image, endImage, scenes, keyframes }: Pictures): PixelSize | undefined {
  const { width, height } = image ?? keyframes[0]?.picture ?? scenes[0] ?? endImage ?? {};
  return width === undefined || height === undefined ? undefined : { width, height };
}

function pictureParts(
  { cameraTrajectory }: VideoRequest,
  { pictures, size, frames }: { pictures: Pictures; size: PixelSize; frames: number },
): Part[] {
  return pictureShots(pictures, frames).map((shot) => {
    const { picture, from, to } = shot;
    const stops =
      cameraTrajectory?.map(({ time, ...place }) => ({ ...place, frame: time * (frames - 1) })) ?? slowZoom(shot);
    const chains = pictureClip({ picture, size, frames: to - from, stops });
    return { frames: to - from, picture, chains };
  });
}

/** Samples per second of the sound. */
const RATE = 48_000;
/** Semitones above the root. */
const CHORD = [0, 7, 12, 16];
const MIN_ROOT_HZ = 110;
/** Amplitude of one note; full scale is 1. */
const AMPLITUDE = 0.05;

/** Ends in `[sound]` with exactly this length. The reader of `input` loops, so a shorter one repeats. */
function sourceSoundFilter(input: number, seconds: number): string {
  return `[${input}:a:0]aresample=${RATE},${finished(seconds, 0.03)}`;
}

/** Generates a sound from the prompt; equal prompts give equal sounds. */
function chord(prompt: string, seconds: number): string {
  const root = MIN_ROOT_HZ * 2 ** ((createHash('sha256').update(prompt).digest().readUInt8(0) % 12) / 12);
  const notes = CHORD.map((above) => `${AMPLITUDE}*sin(2*PI*${(root * 2 ** (above / 12)).toFixed(3)}*t)`);
  return `aevalsrc='${notes.join('+')}':s=${RATE}:d=${seconds},${finished(seconds, 0.8)}`;
}

function finished(seconds: number, riseSeconds: number): string {
  const [rise, fall] = [Math.min(riseSeconds, seconds / 4), Math.min(0.8, seconds / 3)];
  const length = `apad,atrim=end_sample=${Math.round(seconds * RATE)},asetpts=N/SR/TB`;
  const fades = `afade=t=in:d=${rise.toFixed(3)},afade=t=out:st=${(seconds - fall).toFixed(3)}:d=${fall.toFixed(3)}`;
  return `aformat=channel_layouts=stereo,${length},${fades}[sound]`;
}
