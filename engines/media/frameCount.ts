/**
 * Counts the frames of a decoding run from ffmpeg's `framecrc` lines: `stream, dts, pts, duration, bytes, checksum`.
 * Header lines such as `#tb 0: 1/90000` and `#dimensions 0: 640x1` come first.
 */

export interface FrameCount {
  pictures: number;
  /** Width of the first picture as stored. 0 without pictures. */
  width: number;
  height: number;
  /** At least one later picture has another size. */
  sizeChanges: boolean;
  /** From the first picture to the end of the last. A pause before it is left to the container. */
  pictureSeconds: number;
  /** Length of the decoded samples. 0 without a sound track. */
  soundSeconds: number;
  hasSound: boolean;
  /** Limit that ended the count. */
  over?: 'pictures' | 'seconds';
}

const ROW = 0;
const COLUMN = 1;
const SOUND = 2;
const HEAD = /^#(\w+) (\d): (\d+)[/x]?(\d*)/;
/** Longer than any expected line. */
const MAX_LINE = 2_000;

interface Stream {
  /** Seconds per tick. */
  tick: number;
  dimensions: [number, number];
  frames: number;
  /** Sum of the frame durations. */
  ticks: number;
  first: number;
  last: number;
  bytes: Set<number>;
}

export function createFrameCount(limits: { maxPictures: number; maxSeconds: number }) {
  const streams = [newStream(), newStream(), newStream()];
  let rest = '';
  let over: FrameCount['over'];
  const piece = (chunk: Buffer): boolean => {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    for (const line of lines) (line.startsWith('#') ? noteHead : noteFrame)(streams, line);
    over ??= excess(summary(streams), limits);
    return over === undefined;
  };
  return { piece, result: () => ({ ...summary(streams), ...(over === undefined ? {} : { over }) }) };
}

function newStream(): Stream {
  return {
    ...{ tick: 0, dimensions: [0, 0], frames: 0, ticks: 0 },
    ...{ first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY, bytes: new Set() },
  };
}

function noteFrame(streams: Stream[], line: string): void {
  const [index = Number.NaN, , pts = 0, duration = 0, bytes = 0] = line.split(',', 5).map(Number);
  const stream = streams[index];
  if (stream === undefined || !Number.isFinite(pts) || !Number.isFinite(duration)) return;
  stream.frames += 1;
  stream.ticks += Math.max(0, duration);
  stream.first = Math.min(stream.first, pts);
  stream.last = Math.max(stream.last, pts);
  // Two different values are enough to detect a change.
  if (stream.bytes.size < 2) stream.bytes.add(bytes);
}

function noteHead(streams: Stream[], line: string): void {
  const [, field, index, left, right] = HEAD.exec(line) ?? [];
  const stream = streams[Number(index)];
  if (stream === undefined) return;
  if (field === 'tb') stream.tick = Number(left) / Number(right);
  if (field === 'dimensions') stream.dimensions = [Number(left), Number(right)];
}

function summary(streams: Stream[]): FrameCount {
  const row = streams[ROW] ?? newStream();
  const column = streams[COLUMN] ?? newStream();
  const sound = streams[SOUND] ?? newStream();
  return {
    pictures: row.frames,
    width: row.dimensions[0],
    height: column.dimensions[1],
    sizeChanges: row.bytes.size > 1 || column.bytes.size > 1,
    pictureSeconds: pictureSeconds(row),
    soundSeconds: sound.ticks * sound.tick,
    hasSound: sound.frames > 0,
  };
}

/** Assumes the average duration for the last picture. */
function pictureSeconds({ frames, ticks, tick, first, last }: Stream): number {
  if (frames === 0) return 0;
  const average = frames > 1 ? (last - first) / (frames - 1) : ticks;
  return (last - first + Math.max(average, 0)) * tick;
}

function excess(count: FrameCount, limits: { maxPictures: number; maxSeconds: number }): FrameCount['over'] {
  if (count.pictures > limits.maxPictures) return 'pictures';
  const longest = Math.max(count.pictureSeconds, count.soundSeconds);
  return longest > limits.maxSeconds ? 'seconds' : undefined;
}
