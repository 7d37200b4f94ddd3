import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { billableSeconds } from '../../../domain/pricing.ts';
import { verifyAudio } from '../../../engines/media/measureAudio.ts';
import { ENCODINGS, type Encoding, encode, isLong, measure, testFolder } from './recordings.ts';
import { LIES, type Lie, type Spoof, spoofs } from './spoofs.ts';

// Each is a matter of seconds; a machine that is busy with other tests is no failure.

const folder = testFolder();
afterAll(() => rmSync(folder, { recursive: true }));

async function billed(path: string): Promise<number> {
  const outcome = await measure(path);
  if (!outcome.ok) throw new Error(outcome.message);
  return billableSeconds(outcome.audio.decodedSeconds, outcome.audio.lossy);
}

const RATES = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000];
/** Two of those whose encoder's delay depends on the rate; `--long` has them all at all. */
const LOSSY = /^(mp3|aac)$/;

function ratesOf(encoding: { name: string }): readonly number[] {
  if (isLong()) return RATES;
  return LOSSY.test(encoding.name) ? [8_000, 44_100] : [44_100];
}

describe('a recording of exactly 60 s costs 60 s', () => {
  for (const encoding of ENCODINGS.filter(({ name }) => isLong() || !/bare|float|mulaw|start|ogg flac/.test(name))) {
    it(`as ${encoding.name}, from telephone to studio rate`, async () => {
      for (const sampleRate of ratesOf(encoding)) {
        expect(await billed(encode(encoding, { folder, seconds: 60, sampleRate }))).toBe(60);
      }
    });
  }
});

/** One of them for each encoding, in turn, so that every one is told; `--long` tells all of all. */
function liesFor(encoding: number): readonly Lie[] {
  return isLong() ? LIES : LIES.filter((_, at) => at === encoding % LIES.length);
}

/** A half second over: past what encoders add, so every format has to charge the second minute. */
const REAL_SECONDS = 60.5;

describe('a recording of a little over a minute costs the second minute, whatever its header says', () => {
  const tried: string[] = [];
  const chosen = ENCODINGS.filter(
    (encoding) => isLong() || /^(mp3|wav|vorbis|flac|m4a fragments|aac|webm opus)$/.test(encoding.name),
  );
  for (const [at, encoding] of chosen.entries()) {
    it(`as ${encoding.name}`, async () => {
      const original = encode(encoding, { folder, seconds: REAL_SECONDS, sampleRate: 16_000 });
      expect(await billed(original)).toBe(61);
      const bytes = readFileSync(original);
      for (const lie of liesFor(at)) {
        const all = spoofs(encoding, bytes, lie);
        tried.push(...all.map((spoof) => `${encoding.name} ${lie} ${spoof.field}`));
        await Promise.all(all.map((spoof) => expectTruth(encoding, lie, spoof)));
      }
    });
  }

  it('and enough such files were tried', () => {
    expect(tried.length).toBeGreaterThanOrEqual(isLong() ? 300 : 15);
  });
});

it('the length of an output is told for the formats that clients are sent', async () => {
  for (const { name, ...encoding } of ENCODINGS.filter(({ extension }) => /^(mp3|wav|flac)$/.test(extension))) {
    const path = encode({ name, ...encoding }, { folder, seconds: 3, sampleRate: 44_100 });
    const told = (await verifyAudio(path))?.seconds;
    expect(told, name).toBeGreaterThanOrEqual(3);
    expect(told, name).toBeLessThan(3.1);
  }
});

async function expectTruth(encoding: Encoding, lie: Lie, spoof: Spoof): Promise<void> {
  const path = join(folder, `${randomUUID()}.${encoding.extension}`);
  writeFileSync(path, spoof.file);
  const outcome = await measure(path);
  const told = `${encoding.name}, ${lie} ${spoof.field}: ${outcome.ok ? 'measured' : outcome.message}`;
  if (!outcome.ok) {
    expect(isRefusedOnPurpose(encoding, lie, spoof), told).toBe(true);
    return;
  }
  expect(billableSeconds(outcome.audio.decodedSeconds, outcome.audio.lossy), told).toBeGreaterThanOrEqual(61);
  expect(billableSeconds(outcome.audio.decodedSeconds, outcome.audio.lossy), told).toBeLessThanOrEqual(62);
}

/**
 * Both sizes of a WAV agree on more than is there: that is what a cut file looks like. And an Opus page at a position past
 * 2^62 is none that the demuxer reads.
 */
function isRefusedOnPurpose(encoding: Encoding, lie: Lie, spoof: Spoof): boolean {
  if (encoding.format === 'wav') return lie === 'longer' && spoof.field === 'both sizes';
  return encoding.name === 'opus' && (lie === 'nan' || lie === 'huge') && spoof.field.includes('granule');
}
