/**
 * Camera moves over a still picture. There is no depth in a picture, so this is what can be done honestly, called 2.5-D:
 * distance is zoom (half the distance shows half the width); azimuth and elevation turn the picture as a board in space by
 * up to a quarter of a right angle and look a little to that side. Since nobody has seen the back of a picture, the turn
 * goes by the sine: a whole turn swings right, back, left and back. Nearer than 1 the view stays inside the picture; from
 * farther away its blurred surroundings come into sight, twice its width at most.
 */
import type { CameraPoint } from '../../../domain/generation/videoOrder.ts';
import { tableExpression } from './filterText.ts';

/** What of the picture is seen; lengths are shares of the picture's width and height. */
export interface View {
  centreX: number;
  centreY: number;
  /** 1 is the whole picture. */
  extent: number;
  /** −1 to 1: to the right and up. */
  yaw: number;
  pitch: number;
}

export const WHOLE: View = { centreX: 0.5, centreY: 0.5, extent: 1, yaw: 0, pitch: 0 };

/** How much nearer the near edge of a turned board is, and how far one looks to its side. */
const TURN = 0.28;
const LOOK = 0.1;
const NEAREST = 0.08;

/** Where the camera is in each frame: on a smooth line through the points that never overshoots them. */
export function trajectoryViews(points: readonly CameraPoint[], frames: number): View[] {
  const of = (member: 'azimuth' | 'elevation' | 'distance') =>
    smoothLine(points.map((point) => ({ at: point.time * (frames - 1), value: point[member] })));
  const [azimuth, elevation, distance] = [of('azimuth'), of('elevation'), of('distance')];
  return Array.from({ length: frames }, (_, frame) =>
    viewFrom({ azimuth: azimuth(frame), elevation: elevation(frame), distance: distance(frame) }),
  );
}

export function viewFrom({ azimuth, elevation, distance }: Omit<CameraPoint, 'time'>): View {
  const radians = Math.PI / 180;
  const pitch = Math.sin(elevation * radians);
  const yaw = Math.sin(azimuth * radians) * Math.cos(elevation * radians);
  // Grows with the distance as it should at 1, and ends at twice the picture.
  const extent = distance > 1 ? 2 - 1 / distance : Math.max(NEAREST, distance);
  const [across, down] = [Math.abs(yaw), Math.abs(pitch)];
  const inside =
    ((1 - 2 * LOOK * across) * (1 - 2 * LOOK * down)) / ((1 + TURN * across) * (1 + TURN * down));
  return {
    centreX: 0.5 + LOOK * yaw,
    centreY: 0.5 - LOOK * pitch,
    extent: extent * inside,
    yaw,
    pitch,
  };
}

interface Knot {
  at: number;
  value: number;
}

/** Piecewise cubic with the tangents of Fritsch and Carlson (1980), held level before the first knot and after the last. */
function smoothLine(knots: readonly Knot[]): (at: number) => number {
  const slopes = knots.slice(1).map((knot, index) => {
    const before = knots[index] ?? knot;
    return (knot.value - before.value) / (knot.at - before.at);
  });
  const tangents = knots.map((_, index) => {
    const [left, right] = [slopes[index - 1], slopes[index]];
    if (left === undefined || right === undefined) return left ?? right ?? 0;
    return left * right <= 0 ? 0 : (2 * left * right) / (left + right);
  });
  return (at) => {
    const next = knots.findIndex((knot) => knot.at > at);
    const [from, to] = [knots[next - 1], knots[next]];
    if (from === undefined || to === undefined) return (next === 0 ? knots[0] : knots.at(-1))?.value ?? 0;
    const length = to.at - from.at;
    const u = (at - from.at) / length;
    return (
      from.value * (1 + 2 * u) * (1 - u) ** 2 +
      to.value * u * u * (3 - 2 * u) +
      (tangents[next - 1] ?? 0) * length * u * (1 - u) ** 2 +
      (tangents[next] ?? 0) * length * u * u * (u - 1)
    );
  };
}

/** Where the corners of a view are on the picture, as shares: top left, top right, bottom left, bottom right; x and y. */
export function cornersOf({ centreX, centreY, extent, yaw, pitch }: View): number[] {
  const half = extent / 2;
  return [-1, 1].flatMap((down) =>
    [-1, 1].flatMap((right) => [
      centreX + right * half * (1 + TURN * pitch * down),
      centreY + down * half * (1 - TURN * yaw * right),
    ]),
  );
}

/** How far beyond the picture the views see: 1 is not at all, 2 is a picture of twice its width and height. */
export function canvasFor(views: readonly View[]): number {
  const reaches = views.flatMap((view) => cornersOf(view).map((share) => Math.abs(share - 0.5) * 2));
  return reaches.reduce((most, reach) => Math.max(most, reach), 1);
}

/**
 * The filter that shows the views, one for each frame, on a canvas that is `canvas` times the picture around its middle.
 */
export function perspective(views: readonly View[], canvas: number): string {
  const corners = views.map((view) => cornersOf(view).map((share) => 0.5 + (share - 0.5) / canvas));
  const names = ['x0', 'y0', 'x1', 'y1', 'x2', 'y2', 'x3', 'y3'];
  const options = names.map((name, index) => {
    const side = name.startsWith('x') ? 'W' : 'H';
    // The filter counts frames from 1.
    const table = tableExpression(precise(corners.map((frame) => frame[index] ?? 0)), 'on-1');
    return `${name}='${side}*(${table})/${PRECISION}'`;
  });
  return `perspective=${options.join(':')}:interpolation=cubic:eval=frame`;
}

/** Shares are written as whole numbers of this part, which is far below what a pixel shows. */
const PRECISION = 1_000_000;

function precise(shares: readonly number[]): number[] {
  return shares.map((share) => Math.round(share * PRECISION));
}
