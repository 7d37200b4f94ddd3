/** What an order becomes: shots as filter graphs, a sound, and the files of its words. */
import type { MediaRole } from '../../../domain/generation/media.ts';
import type { MediaFile, VideoRequest } from '../../shared/provider.ts';
import { backdrop } from './backdrop.ts';
import { trajectoryViews, type View } from './camera.ts';
import { shippedFont } from './fontWidths.ts';
import { FRAMES_PER_SECOND, frameSize, type Size } from './frames.ts';
import { type Move, moveOf, pictureClip, slowMove } from './picture.ts';
import { sceneTexts } from './sentences.ts';
import { evenShots, type PictureShot, pictureShots, type Shot } from './shots.ts';
import { ambientSound, givenSound } from './soundtrack.ts';
import { themeOf } from './theme.ts';
import { titleFilters } from './titles.ts';
import { typeset } from './typeset.ts';

export interface PlannedShot extends Shot {
  /** Number 0 in its graph. */
  picture?: MediaFile;
  /** They end in `[shot]`: one frame for each of its own, from the first on. */
  chains: readonly string[];
}

export interface PlannedSound {
  /** Read as the input that the chains were planned for. */
  track?: MediaFile;
  /** They end in `[sound]`. */
  chains: readonly string[];
}

export interface VideoPlan {
  size: Size;
  frames: number;
  shots: readonly PlannedShot[];
  /** The sound for a video whose graph has so many inputs before it; undefined where none is wanted. */
  soundAfter?: (inputs: number) => PlannedSound;
  /** To be written before the run. */
  texts: readonly { path: string; text: string }[];
}

const MOST_SECONDS = 30;
const DEFAULT_SECONDS = 5;

/** A string is a refusal, in words for the client. `pathOf` says where a file of that name may be written. */
export function planVideo(request: VideoRequest, pathOf: (name: string) => string): VideoPlan | string {
  const seconds = request.durationSeconds ?? DEFAULT_SECONDS;
  if (!(seconds >= 1 && seconds <= MOST_SECONDS)) return `duration must be 1 to ${MOST_SECONDS} seconds.`;
  const pictures = picturesOf(request);
  if (typeof pictures === 'string') return pictures;
  const size = frameSize(request, measured(pictures.first));
  if (size === undefined) return 'The resolution or the aspect_ratio is not one of this model.';
  const frames = Math.round(seconds * FRAMES_PER_SECOND);
  const shots = pictureShots(pictures, frames);
  const titled = shots.length === 0;
  const order = { request, size, frames };
  const seen = titled ? titledScenes(order, pathOf) : { shots: pictureScenes(order, shots), texts: [] };
  const sound = request.audio === false ? {} : { soundAfter: soundOf(request, frames / FRAMES_PER_SECOND) };
  return { size, frames, ...seen, ...sound };
}

function soundOf({ media, prompt = '' }: VideoRequest, seconds: number) {
  const track = media.find(({ role }) => role === 'audio');
  return (inputs: number): PlannedSound =>
    track === undefined
      ? { chains: ambientSound(prompt, seconds) }
      : { track, chains: [givenSound(inputs, seconds)] };
}

function picturesOf({ media, keyframes = [], cameraTrajectory }: VideoRequest) {
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
  const first = image ?? framed[0]?.picture ?? scenes[0] ?? endImage;
  return { image, endImage, scenes, keyframes: framed, first };
}

function measured(picture: MediaFile | undefined): Size | undefined {
  const { width, height } = picture ?? {};
  return width === undefined || height === undefined ? undefined : { width, height };
}

interface Order {
  request: VideoRequest;
  size: Size;
  frames: number;
}

/** The prompt's sentences, each over a background of its own. */
function titledScenes({ request, size, frames }: Order, pathOf: (name: string) => string) {
  const prompt = request.prompt ?? '';
  const words = sceneTexts(prompt, frames / FRAMES_PER_SECOND);
  const shots = evenShots(words.length, frames);
  const texts: { path: string; text: string }[] = [];
  const planned = shots.map(({ from, to }, scene): PlannedShot => {
    const text = words[scene] ?? '';
    const set = typeset(text, size, shippedFont());
    const files = set.lines.map((line, index) => {
      const path = pathOf(`scene${scene}line${index}.txt`);
      texts.push({ path, text: line });
      return path;
    });
    const length = { frames: to - from, seconds: (to - from) / FRAMES_PER_SECOND };
    const titles = titleFilters({ ...set, files, size, seconds: length.seconds });
    const theme = themeOf(text, prompt);
    const background = backdrop({ theme, size, frames: length.frames, label: 'place' });
    const written = `[place]${titles.length === 0 ? 'null' : titles.join(',')}[shot]`;
    return { from, to, chains: [...background, written] };
  });
  return { shots: planned, texts };
}

const OTHER_MOVES: readonly Move[] = ['in', 'right', 'up', 'left', 'down'];

function pictureScenes({ request, size, frames }: Order, shots: readonly PictureShot[]): PlannedShot[] {
  const { cameraTrajectory, prompt = '' } = request;
  const asked = moveOf(prompt);
  const alone = shots.length === 1 && request.media.some(({ role }) => role === 'image');
  const viewsOf = (shot: PictureShot, index: number): View[] => {
    if (cameraTrajectory !== undefined) return trajectoryViews(cameraTrajectory, frames);
    const move = index === 0 ? asked : (OTHER_MOVES[index % OTHER_MOVES.length] ?? 'in');
    // Going away from a picture ends with all of it.
    return slowMove(alone && move === 'out' ? { ...shot, still: frames - 1 } : shot, move);
  };
  return shots.map((shot, index) => {
    const { from, to, picture } = shot;
    const views = viewsOf(shot, index);
    return { from, to, picture, chains: pictureClip({ input: 0, picture, size, views, label: 'shot' }) };
  });
}
