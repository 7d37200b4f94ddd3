/** Walks a WebM or Matroska file (RFC 9559): its elements down to blocks, its tracks and its end. */
import type { FileWindow } from './fileWindow.ts';
import type { VideoStructure, VideoTrack } from './videoStructure.ts';

const ID = {
  ebml: 0x1a45dfa3,
  docType: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackType: 0x83,
  codecId: 0x86,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
} as const;

/** Elements whose children are read. Live recorders write segments and clusters without a size. */
const OPENED = new Set<number>([
  ...[ID.ebml, ID.segment, ID.info, ID.tracks, ID.trackEntry, ID.video, ID.cluster, ID.blockGroup],
]);
const MAY_BE_OPEN = new Set<number>([ID.segment, ID.cluster]);
/** Also valid at this level: SeekHead, Cues, Attachments, Chapters, Tags, Void, CRC-32, other cluster elements. */
const LEVEL_ONE = new Set<number>([
  ...[ID.ebml, ID.segment, ID.info, ID.tracks, ID.cluster, ID.timestamp, ID.simpleBlock, ID.blockGroup],
  ...[0x114d9b74, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367, 0xec, 0xbf, 0xa7, 0xab, 0x5854, 0xaf],
]);
/** Hours at 60 pictures per second. */
const MAX_ELEMENTS = 2_000_000;
const MAX_TRACKS = 64;
/** Maximum length of an element's header, and of the part of its body that is read. */
const HEAD_BYTES = 12;
const FIELD_BYTES = 64;

interface SegmentState {
  container: 'webm' | 'mkv';
  tracks: { type: number; codec: string; width: number; height: number }[];
  nanosecondsPerTick: number;
  duration: number;
  clusterTicks: number;
  lastTicks: number;
}

export function walkMatroska(file: FileWindow): VideoStructure {
  const walk: SegmentState = {
    ...{ container: 'mkv', tracks: [], nanosecondsPerTick: 1_000_000 },
    ...{ duration: 0, clusterTicks: 0, lastTicks: 0 },
  };
  const fault = walkElements(file, walk);
  const ticks = Math.max(walk.duration, walk.lastTicks);
  const declaredSeconds = (ticks * walk.nanosecondsPerTick) / 1e9;
  return {
    container: walk.container,
    cut: fault === 'cut',
    foreign: fault === 'foreign',
    videoTracks: walk.tracks.filter(({ type }) => type === 1).map(trackOf),
    audioTracks: walk.tracks.filter(({ type }) => type === 2).length,
    ...(declaredSeconds > 0 && Number.isFinite(declaredSeconds) ? { declaredSeconds } : {}),
  };
}

function trackOf({ codec, width, height }: SegmentState['tracks'][number]): VideoTrack {
  return { codec, width, height, quarterTurned: false };
}

function walkElements(file: FileWindow, walk: SegmentState): 'cut' | 'foreign' | undefined {
  /** Up to here elements are fields of an opened element, where unknown ids are allowed. */
  let fieldsEnd = 0;
  let position = 0;
  for (let count = 0; position < file.size; count += 1) {
    const element = elementAt(file, position);
    if (element === undefined) return file.size - position < HEAD_BYTES ? 'cut' : 'foreign';
    const { id, start, end = 0 } = element;
    const mayBeOpen = MAY_BE_OPEN.has(id);
    const isKnown = (LEVEL_ONE.has(id) || position < fieldsEnd) && (end > 0 || mayBeOpen);
    if (!isKnown || count > MAX_ELEMENTS || walk.tracks.length > MAX_TRACKS) return 'foreign';
    if (end > file.size) return 'cut';
    if (OPENED.has(id) && !mayBeOpen) fieldsEnd = Math.max(fieldsEnd, end);
    note(walk, id, () => file.bytes(start, Math.min(FIELD_BYTES, end - start)));
    position = OPENED.has(id) ? start : end;
  }
  return undefined;
}

function note(walk: SegmentState, id: number, body: () => Buffer): void {
  const track = walk.tracks.at(-1);
  if (id === ID.docType) walk.container = body().toString('latin1').startsWith('webm') ? 'webm' : 'mkv';
  if (id === ID.trackEntry) walk.tracks.push({ type: 0, codec: '', width: 0, height: 0 });
  if (id === ID.timestampScale) walk.nanosecondsPerTick = unsigned(body());
  if (id === ID.duration) walk.duration = floating(body());
  if (track && id === ID.trackType) track.type = unsigned(body());
  if (track && id === ID.codecId) track.codec = body().toString('latin1').replace(/\0+$/, '');
  if (track && id === ID.pixelWidth) track.width = unsigned(body());
  if (track && id === ID.pixelHeight) track.height = unsigned(body());
  if (id === ID.timestamp) walk.clusterTicks = unsigned(body());
  if (id === ID.simpleBlock || id === ID.block) {
    walk.lastTicks = Math.max(walk.lastTicks, walk.clusterTicks + blockTicks(body()));
  }
}

/** Signed offset after the track number, relative to the cluster's time. */
function blockTicks(block: Buffer): number {
  const at = Math.clz32(block[0] ?? 0) - 23;
  return at + 2 <= block.length ? block.readInt16BE(at) : 0;
}

function unsigned(body: Buffer): number {
  return body.subarray(0, 8).reduce((value, byte) => value * 256 + byte, 0);
}

function floating(body: Buffer): number {
  return body.length === 4 ? body.readFloatBE(0) : body.length === 8 ? body.readDoubleBE(0) : 0;
}

interface Element {
  id: number;
  start: number;
  /** Undefined when the size is open. */
  end: number | undefined;
}

function elementAt(file: FileWindow, position: number): Element | undefined {
  const head = file.bytes(position, HEAD_BYTES);
  const idBytes = Math.clz32(head[0] ?? 0) - 23;
  const sizeBytes = Math.clz32(head[idBytes] ?? 0) - 23;
  if (idBytes > 4 || sizeBytes > 8 || idBytes + sizeBytes > head.length) return undefined;
  const id = head.readUIntBE(0, idBytes);
  const marked = head.subarray(idBytes, idBytes + sizeBytes);
  const size = marked.subarray(1).reduce((sum, byte) => sum * 256 + byte, (marked[0] ?? 0) & (0xff >> sizeBytes));
  const start = position + idBytes + sizeBytes;
  return { id, start, end: size === 2 ** (7 * sizeBytes) - 1 ? undefined : start + size };
}
