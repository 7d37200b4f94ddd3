/** Divides a video into consecutive shots, each with the frame at which its image is whole. */
import type { MediaFile } from '../../shared/provider.ts';

export interface Shot {
  picture: MediaFile;
  /** First frame of the shot; `to` is the frame after its last. */
  from: number;
  to: number;
  /** Frame of the video that shows the image unmoved, fitted to the frame. */
  still: number;
}

export interface Pictures {
  image?: MediaFile | undefined;
  endImage?: MediaFile | undefined;
  /** Scenes in order. */
  scenes: readonly MediaFile[];
  keyframes: readonly { picture: MediaFile; frame: number }[];
}

/**
 * The first image is whole in the first frame, the end image in the last, scenes in the middle of equal parts.
 * Keyframes are whole at their frames and replace another image there. A frame past the end means the last. Cuts are
 * halfway between.
 */
export function pictureShots({ image, endImage, scenes, keyframes }: Pictures, frames: number): Shot[] {
  const last = frames - 1;
  const firsts = image === undefined ? 0 : 1;
  const parts = firsts + scenes.length + (endImage === undefined ? 0 : 1);
  const stills = new Map<number, MediaFile>();
  if (image !== undefined) stills.set(0, image);
  for (const [index, scene] of scenes.entries()) {
    stills.set(Math.min(last, Math.round(((firsts + index + 0.5) * frames) / parts)), scene);
  }
  if (endImage !== undefined) stills.set(last, endImage);
  for (const { picture, frame } of keyframes) stills.set(Math.min(frame, last), picture);
  const ordered = [...stills].sort(([left], [right]) => left - right);
  const cuts = ordered.slice(1).map(([still], index) => Math.floor((still + (ordered[index]?.[0] ?? 0)) / 2) + 1);
  return ordered.map(([still, picture], index) => {
    return { picture, still, from: cuts[index - 1] ?? 0, to: cuts[index] ?? frames };
  });
}
