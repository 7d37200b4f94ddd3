/** When which picture is seen: shots that overlap where one fades into the next, and the frame at which each stands whole. */
import type { MediaFile } from '../../shared/provider.ts';
import { FRAMES_PER_SECOND } from './frames.ts';

export interface Shot {
  /** First frame that it is needed for, and the one after the last. */
  from: number;
  to: number;
}

export interface PictureShot extends Shot {
  picture: MediaFile;
  /** Frame of the video at which it is shown exactly as it was handed in, fitted to the frame. */
  still: number;
}

const FADE_SECONDS = 0.7;

/** Equal shots for so many scenes, fading into each other. */
export function evenShots(count: number, frames: number): Shot[] {
  const fade = Math.min(Math.round(FADE_SECONDS * FRAMES_PER_SECOND), Math.floor(frames / count / 3));
  const bound = (index: number) => Math.round((index * frames) / count);
  return Array.from({ length: count }, (_, index) => ({
    from: Math.max(0, bound(index) - (index === 0 ? 0 : Math.ceil(fade / 2))),
    to: index === count - 1 ? frames : bound(index + 1) + Math.floor(fade / 2),
  }));
}

interface Anchor {
  picture: MediaFile;
  still: number;
}

/**
 * Pictures that stand at given frames, in order of these. Between two of them the first is seen, then a fade, then the
 * second; at neither of their frames is there anything of the other.
 */
function anchoredShots(anchors: readonly Anchor[], frames: number): PictureShot[] {
  const fades = anchors.slice(1).map((next, index) => fadeBetween(anchors[index]?.still ?? 0, next.still));
  return anchors.map((anchor, index) => ({
    ...anchor,
    from: fades[index - 1]?.from ?? 0,
    to: fades[index]?.to ?? frames,
  }));
}

/** The frames that show both: none where the two stand next to each other, and then it is a cut. */
function fadeBetween(first: number, second: number): Shot {
  const between = second - first - 1;
  const length = Math.min(
    between,
    Math.max(Math.round(FADE_SECONDS * FRAMES_PER_SECOND), Math.round(between * 0.5)),
  );
  const from = first + 1 + Math.floor((between - length) / 2);
  return { from, to: from + length };
}

export interface Pictures {
  image?: MediaFile | undefined;
  endImage?: MediaFile | undefined;
  /** Scenes in order. */
  scenes: readonly MediaFile[];
  keyframes: readonly { picture: MediaFile; frame: number }[];
}

/**
 * The first image stands in the first frame and the end image in the last one, scenes in the middle of equal parts, and
 * keyframes at their frames, where they come before an image that would stand at the same one. The frame after the last
 * means the last.
 */
export function pictureShots(
  { image, endImage, scenes, keyframes }: Pictures,
  frames: number,
): PictureShot[] {
  const last = frames - 1;
  const firsts = image === undefined ? 0 : 1;
  const parts = firsts + scenes.length + (endImage === undefined ? 0 : 1);
  const anchors = new Map<number, MediaFile>();
  if (image !== undefined) anchors.set(0, image);
  for (const [index, scene] of scenes.entries()) {
    anchors.set(Math.min(last, Math.round(((firsts + index + 0.5) * frames) / parts)), scene);
  }
  if (endImage !== undefined) anchors.set(last, endImage);
  for (const { picture, frame } of keyframes) anchors.set(Math.min(frame, last), picture);
  const ordered = [...anchors].sort(([left], [right]) => left - right);
  return anchoredShots(
    ordered.map(([still, picture]) => ({ still, picture })),
    frames,
  );
}
