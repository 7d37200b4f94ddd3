/** Declared lengths of MP4 fragments. Live recorders and streaming services write no other length. */
import { type Box, child, childrenOf } from './boxes.ts';
import type { FileWindow } from './fileWindow.ts';

/** The index of a fragment has a few bytes per sample, for a few seconds. */
const MAX_FRAGMENT_INDEX_BYTES = 1024 * 1024;

/** Seconds per track. `scales` maps track numbers to ticks per second. */
export function fragmentSeconds(
  file: FileWindow,
  boxes: readonly Box[],
  scales: ReadonlyMap<number, number>,
): number[] {
  const ticks = new Map<number, number>();
  for (const { type, bodyStart, end } of boxes) {
    if (type !== 'moof' || end - bodyStart > MAX_FRAGMENT_INDEX_BYTES) continue;
    for (const { type: kind, body } of childrenOf(file.bytes(bodyStart, end - bodyStart))) {
      const track = kind === 'traf' ? trackTicks(body) : undefined;
      if (track) ticks.set(track.id, (ticks.get(track.id) ?? 0) + track.ticks);
    }
  }
  return [...ticks].map(([id, sum]) => sum / (scales.get(id) ?? Number.POSITIVE_INFINITY));
}

const HAS_BASE = 0x1;
const HAS_DESCRIPTION = 0x2;
const HAS_DURATION = 0x8;

function trackTicks(fragment: Buffer): { id: number; ticks: number } | undefined {
  const header = child(fragment, 'tfhd');
  if (header === undefined || header.length < 8) return undefined;
  const flags = header.readUIntBE(1, 3);
  const durationAt = 8 + (flags & HAS_BASE ? 8 : 0) + (flags & HAS_DESCRIPTION ? 4 : 0);
  const usual = flags & HAS_DURATION && header.length >= durationAt + 4 ? header.readUInt32BE(durationAt) : 0;
  let ticks = 0;
  for (const { type, body } of childrenOf(fragment)) if (type === 'trun') ticks += runTicks(body, usual);
  return { id: header.readUInt32BE(4), ticks };
}

const RUN_HAS_OFFSET = 0x1;
const RUN_HAS_FIRST_FLAGS = 0x4;
const RUN_HAS_DURATIONS = 0x100;
const RUN_COLUMNS = 0xf00;

function runTicks(run: Buffer, usual: number): number {
  if (run.length < 8) return 0;
  const flags = run.readUIntBE(1, 3);
  const count = run.readUInt32BE(4);
  if (!(flags & RUN_HAS_DURATIONS)) return count * usual;
  const row = 4 * ((flags & RUN_COLUMNS) >>> 8).toString(2).replaceAll('0', '').length;
  let ticks = 0;
  let at = 8 + (flags & RUN_HAS_OFFSET ? 4 : 0) + (flags & RUN_HAS_FIRST_FLAGS ? 4 : 0);
  for (let sample = 0; sample < count && at + 4 <= run.length; sample += 1, at += row) ticks += run.readUInt32BE(at);
  return ticks;
}
