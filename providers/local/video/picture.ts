/**
 * Shows an image as a moving shot: fitted to the frame on white, then seen by a camera. An image has no depth, so
 * distance is zoom (half the distance shows half the width), and azimuth and elevation shift the view. Below distance 1
 * the view stays inside the frame. Above it the surrounding white shows, at most twice the frame's width.
 */
import type { CameraPoint } from '../../../domain/generation/videoOrder.ts';
import type { PixelSize } from '../../../domain/images/images.ts';
import { FRAMES_PER_SECOND, toEven } from './frames.ts';
import type { Shot } from './shots.ts';

/** Camera position at a frame of its shot; it moves evenly between stops. */
type CameraStop = Omit<CameraPoint, 'time'> & { frame: number };

const NEAREST = 0.08;
const FARTHEST = 2;
/** Largest shift of the view from the centre, as a share of the frame. */
const LOOK = 0.1;
/** Zoom of the slow move, as a share of the distance 1. */
const ZOOM = 0.16;

/** Shows the whole image at `still` and zooms in before and after it. */
export function slowZoom({ from, to, still }: Shot): CameraStop[] {
  const span = Math.max(still - from, to - 1 - still, 1);
  return [from, still, to - 1].map((frame) => {
    const distance = 1 - (ZOOM * Math.abs(frame - still)) / span;
    return { frame: frame - from, distance, azimuth: 0, elevation: 0 };
  });
}

interface PictureClip {
  picture: { width?: number; height?: number };
  size: PixelSize;
  frames: number;
  /** In order, at least one. */
  stops: readonly CameraStop[];
}

/** Filter chains from `[0:v]` to `[out]`: yuv420p of `size` with `frames` frames. */
export function pictureClip({ picture, size, frames, stops }: PictureClip): string[] {
  const { width = size.width, height = size.height } = picture;
  const shown = fitted(width / height, size);
  const reach = stops.some(({ distance }) => distance > 1) ? FARTHEST : 1;
  const canvas = `${size.width * reach}x${size.height * reach}`;
  const yuv = 'scale=flags=lanczos+accurate_rnd:out_color_matrix=bt709:out_range=tv,format=yuv420p';
  const hold = `loop=loop=-1:size=1,setpts=N/${FRAMES_PER_SECOND}/TB,trim=end_frame=${frames}`;
  const smaller = reach === 1 ? '' : `,scale=${size.width}:${size.height}`;
  return [
    `[0:v]trim=end_frame=1,format=rgba,scale=${shown.width}:${shown.height}:flags=lanczos+accurate_rnd[over]`,
    `color=c=white:s=${canvas}:r=${FRAMES_PER_SECOND},trim=end_frame=1,format=rgba[under]`,
    `[under][over]overlay=x=(W-w)/2:y=(H-h)/2:format=rgb,${yuv},setsar=1,${hold},${camera(stops, reach)}${smaller}[out]`,
  ];
}

function fitted(ratio: number, { width, height }: PixelSize): PixelSize {
  return { width: toEven(Math.min(width, height * ratio)), height: toEven(Math.min(height, width / ratio)) };
}

/** Filter for the camera's view of a canvas `reach` times the frame. */
function camera(stops: readonly CameraStop[], reach: number): string {
  const view = [
    `st(0,sin(${evenLine(stops, 'azimuth')}*PI/180))`,
    `st(1,sin(${evenLine(stops, 'elevation')}*PI/180))`,
    // The camera moves closer when it looks aside, so that the view stays inside the edge.
    `st(2,clip(${evenLine(stops, 'distance')},${NEAREST},${FARTHEST})*(1-${2 * LOOK}*max(abs(ld(0)),abs(ld(1)))))`,
  ].join(';');
  const corners = [-1, 1].flatMap((down) => [-1, 1].map((right) => ({ right, down })));
  const options = corners.flatMap(({ right, down }, corner) => [
    `x${corner}='${view};W*(0.5+(${LOOK}*ld(0)+${right / 2}*ld(2))/${reach})'`,
    `y${corner}='${view};H*(0.5+(${-LOOK}*ld(1)+${down / 2}*ld(2))/${reach})'`,
  ]);
  return `perspective=${options.join(':')}:interpolation=cubic:eval=frame`;
}

/** Expression of the frame number, which the filter counts from 1. */
function evenLine(stops: readonly CameraStop[], member: 'azimuth' | 'elevation' | 'distance'): string {
  const rises = stops.slice(1).map((stop, index) => {
    const before = stops[index] ?? stop;
    const frames = stop.frame - before.frame;
    if (frames <= 0) return '';
    const rise = (stop[member] - before[member]) / frames;
    return `+${rise.toFixed(9)}*clip(on-1-${before.frame.toFixed(6)},0,${frames.toFixed(6)})`;
  });
  return `(${(stops[0]?.[member] ?? 0).toFixed(6)}${rises.join('')})`;
}
