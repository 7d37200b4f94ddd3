import { expect, it } from 'vitest';
import { cutAtPauses, levelMeter } from '../../../engines/speech/speechPieces.ts';

/** Levels in dB for spans in seconds. */
function levels(...spans: [seconds: number, db: number][]): Float32Array {
  return Float32Array.from(spans.flatMap(([seconds, db]) => Array<number>(Math.round(seconds * 100)).fill(db)));
}

const SPEECH = -20;
const NOISE = -60;

it('keeps a short recording whole', () => {
  expect(cutAtPauses(levels([0.5, NOISE], [8, SPEECH], [0.5, NOISE]))).toEqual([{ from: 0, to: 900 }]);
});

it('returns no piece for an inaudible recording', () => {
  expect(cutAtPauses(levels([600, -100]))).toEqual([]);
  expect(cutAtPauses(levels([600, -70], [1, -80]))).toEqual([]);
  expect(cutAtPauses(new Float32Array(0))).toEqual([]);
});

it('drops long silences, except for a margin', () => {
  const pieces = cutAtPauses(levels([5, SPEECH], [3_600, NOISE], [5, SPEECH], [100, NOISE]));
  expect(pieces).toEqual([
    { from: 0, to: 530 },
    { from: 360_470, to: 361_030 },
  ]);
});

it('finds a word or two in an hour of silence', () => {
  expect(cutAtPauses(levels([1_800, -90], [1.2, SPEECH], [1_800, -90]))).toEqual([{ from: 179_970, to: 180_150 }]);
});

it('cuts long speech in the middle of its longest pause', () => {
  const said = levels([20, SPEECH], [0.4, NOISE], [5, SPEECH], [0.8, NOISE], [20, SPEECH]);
  expect(cutAtPauses(said)).toEqual([
    { from: 0, to: 2_580 },
    { from: 2_580, to: 4_620 },
  ]);
});

it('cuts speech without a pause too, and loses nothing of it', () => {
  const pieces = cutAtPauses(levels([1_200, SPEECH]));
  expect(pieces.length).toBeGreaterThan(30);
  expect([pieces[0]?.from, pieces.at(-1)?.to]).toEqual([0, 120_000]);
  for (const [index, { from, to }] of pieces.entries()) {
    expect(to - from).toBeLessThanOrEqual(3_500);
    expect(from).toBe(pieces[index - 1]?.to ?? 0);
  }
});

it('measures levels per frame, wherever the bytes are divided', () => {
  const samples = new Int16Array(1_650).fill(0, 0, 160).fill(32_767, 160, 320).fill(3_277, 320);
  const bytes = Buffer.from(samples.buffer);
  const meter = levelMeter(160);
  for (let at = 0; at < bytes.length; at += 333) meter.take(bytes.subarray(at, at + 333));
  const measured = [...meter.levels()].map(Math.round);
  expect(measured).toEqual([-100, 0, ...Array<number>(8).fill(-20)].map((db) => (db === 0 ? -0 : db)));
});
