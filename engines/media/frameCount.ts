/**
 * Counts the frames of a decoding run by the lines of ffmpeg's `framecrc`, one per frame:
 * `stream, dts, pts, duration, bytes, checksum`; before them `#tb 0: 1/90000` and `#dimensions 0: 640x1` say what they mean.
 */

export interface FrameCount {
  pictures: number;
  /** Of the first picture, as stored; 0 when there was none. */
  width: number;
  height: number;
  /** A later picture has another size. */
  sizeChanges: boolean;
  /** From the first picture to the end of the last one; a pause before is the container's to tell. */
  pictureSeconds: number;
  /** Decoded samples; 0 without a sound track. */
  soundSeconds: number;
  hasSound: boolean;
  /** Why counting was given up. */
  over?: 'pictures' | 'seconds';
}

const ROW = 0;
const COLUMN = 1;
const SOUND = 2;
const HEAD = /^#(\w+) (\d): (\d+)[/x]?(\d*)/;
/** Longer than any line of it. */
const MAX_LINE = 2_000;

interface Stream {
  /** Seconds of a tick. */
  tick: number;
  dimensions: [number, number];
  frames: number;
  /** Sum of the frames' durations. */
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
  // Whether they are all alike is what is asked.
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

/** The last picture stays as long as the others do on average. */
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
