/** The runs that make a planned video: one for each shot, and one that puts them together. */
import {
  BEFORE_INPUTS,
  COLOURS,
  mostBitsPerSecond,
  mp4,
  mp4OfParts,
  mp4Part,
  passingMp4,
  TAIL_BITS,
} from './encoding.ts';
import { FRAMES_PER_SECOND } from './frames.ts';
import { type Piece, pieceChains, piecesOf } from './pieces.ts';
import type { PlannedShot, PlannedSound, VideoPlan } from './plan.ts';
import { reading } from './reading.ts';

export const OUTPUT = 'output.mp4';

export interface Step {
  arguments: readonly string[];
  maxFileBytes: number;
  /** To be written before it. */
  files: readonly { path: string; text: string }[];
  /** How many pictures its first output has when it is whole. */
  frames: number;
}

type PathOf = (name: string) => string;

/** In order: each may read what those before it have written. */
export function stepsOf(plan: VideoPlan, pathOf: PathOf): Step[] {
  const [only, ...more] = plan.shots;
  if (only === undefined) throw new Error('a video has at least one shot');
  if (more.length === 0) return [wholeStep(plan, { shot: only, pathOf })];
  const pieces = piecesOf(plan.shots);
  const steps = plan.shots.map((shot, index) => pieceStep(plan, { shot, index, pieces, pathOf }));
  return [...steps, joiningStep(plan, { pieces, pathOf })];
}

/** A video of one shot needs nothing to be put together. */
function wholeStep(plan: VideoPlan, { shot, pathOf }: { shot: PlannedShot; pathOf: PathOf }): Step {
  const inputs = shot.picture === undefined ? [] : [shot.picture];
  const sound = plan.soundAfter?.(inputs.length);
  const piece = { head: 0, body: plan.frames, tail: 0 };
  const graph = graphFile(
    [...shot.chains, ...pieceChains(piece, 0), ...(sound?.chains ?? [])],
    pathOf(GRAPH),
  );
  return {
    arguments: [
      ...BEFORE_INPUTS,
      ...inputs.flatMap((medium) => reading(medium)),
      ...soundReading(sound),
      ...[...graph.arguments, '-map', '[out]', ...soundMap(sound), ...COLOURS],
      ...mp4(plan.size, pathOf(OUTPUT)),
    ],
    maxFileBytes: mostBytes(plan, plan.frames),
    files: graph.files,
    frames: plan.frames,
  };
}

interface Place {
  shot: PlannedShot;
  index: number;
  pieces: readonly Piece[];
  pathOf: PathOf;
}

/** The tail is its first output, which is counted: whose last pictures are there, its first ones are. */
function pieceStep(plan: VideoPlan, { shot, index, pieces, pathOf }: Place): Step {
  const piece = pieces[index] ?? { head: 0, body: 0, tail: 0 };
  const inputs = shot.picture === undefined ? [] : [shot.picture];
  const before = [
    '-threads',
    '1',
    '-codec_whitelist',
    'h264',
    '-f',
    'mov',
    '-i',
    `file:${pathOf(tailName(index - 1))}`,
  ];
  const chains = [...shot.chains, ...pieceChains(piece, inputs.length)];
  const graph = graphFile(chains, pathOf(`graph${index}.txt`));
  return {
    arguments: [
      ...BEFORE_INPUTS,
      ...inputs.flatMap((medium) => reading(medium)),
      ...(piece.head === 0 ? [] : before),
      ...graph.arguments,
      ...(piece.tail === 0
        ? []
        : ['-map', '[tail]', ...COLOURS, ...passingMp4(plan.size, pathOf(tailName(index)))]),
      ...['-map', '[out]', ...COLOURS, ...mp4Part(plan.size, pathOf(partName(index)))],
    ],
    maxFileBytes: mostBytes(plan, Math.max(piece.body, TAIL_BITS * piece.tail)),
    files: graph.files,
    frames: piece.tail === 0 ? piece.body : piece.tail,
  };
}

/** Copies the pictures as they are. */
function joiningStep(
  plan: VideoPlan,
  { pieces, pathOf }: { pieces: readonly Piece[]; pathOf: PathOf },
): Step {
  const sound = plan.soundAfter?.(1);
  const graph =
    sound === undefined ? { arguments: [], files: [] } : graphFile(sound.chains, pathOf('sound.txt'));
  const parts = pieces.map(
    ({ body }, index) => `file '${partName(index)}'\nduration ${(body / FRAMES_PER_SECOND).toFixed(6)}\n`,
  );
  const list = { path: pathOf('parts.txt'), text: `ffconcat version 1.0\n${parts.join('')}` };
  return {
    arguments: [
      ...[
        ...BEFORE_INPUTS,
        '-f',
        'concat',
        '-i',
        `file:${list.path}`,
        ...soundReading(sound),
        ...graph.arguments,
      ],
      ...['-map', '0:v:0', ...soundMap(sound), ...mp4OfParts(pathOf(OUTPUT))],
    ],
    maxFileBytes: mostBytes(plan, plan.frames),
    files: [list, ...graph.files],
    frames: plan.frames,
  };
}

const GRAPH = 'graph.txt';

function partName(index: number): string {
  return `part${index}.mp4`;
}

function tailName(index: number): string {
  return `tail${index}.mp4`;
}

function graphFile(chains: readonly string[], path: string) {
  return { arguments: ['-filter_complex_script', path], files: [{ path, text: chains.join(';\n') }] };
}

function soundReading(sound: PlannedSound | undefined): string[] {
  return sound?.track === undefined ? [] : reading(sound.track);
}

function soundMap(sound: PlannedSound | undefined): string[] {
  return sound === undefined ? [] : ['-map', '[sound]'];
}

function mostBytes({ size }: VideoPlan, frames: number): number {
  return Math.ceil((frames / FRAMES_PER_SECOND + 2) * mostBitsPerSecond(size) * 0.25);
}
