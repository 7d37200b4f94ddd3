import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { billableSeconds } from '../../../domain/pricing.ts';
import { verifyAudio } from '../../../engines/media/measureAudio.ts';
import { ENCODINGS, type Encoding, encode, isLong, measure, testFolder } from './recordings.ts';
import { LIES, type Lie, type Spoof, spoofs } from './spoofs.ts';

// A test takes seconds, and longer on a busy machine.

const folder = testFolder();
afterAll(() => rmSync(folder, { recursive: true }));

async function billed(path: string): Promise<number> {
  const outcome = await measure(path);
  if (!outcome.ok) throw new Error(outcome.message);
  return billableSeconds(outcome.audio.decodedSeconds, outcome.audio.lossy);
}

const RATES = [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000];
/** Formats whose encoder delay depends on the rate get two rates; with `--long` all formats get all rates. */
const LOSSY = /^(mp3|aac)$/;

function ratesOf(encoding: { name: string }): readonly number[] {
  if (isLong()) return RATES;
  return LOSSY.test(encoding.name) ? [8_000, 44_100] : [44_100];
}

describe('the billed length of a recording of exactly 60 s', () => {
  for (const encoding of ENCODINGS.filter(({ name }) => isLong() || !/bare|float|mulaw|start|ogg flac/.test(name))) {
    it(`is 60 s as ${encoding.name}, from telephone to studio rate`, async () => {
      for (const sampleRate of ratesOf(encoding)) {
        expect(await billed(encode(encoding, { folder, seconds: 60, sampleRate }))).toBe(60);
      }
    });
  }
});

/** One lie per encoding in rotation, so that every lie is tried; with `--long` all combinations. */
function liesFor(encoding: number): readonly Lie[] {
  return isLong() ? LIES : LIES.filter((_, at) => at === encoding % LIES.length);
}

/** Half a second more than encoders add, so that every format must bill the second minute. */
const REAL_SECONDS = 60.5;

describe('the billed length of a recording of a little over a minute, for any header', () => {
  const tried: string[] = [];
  const chosen = ENCODINGS.filter(
    (encoding) => isLong() || /^(mp3|wav|vorbis|flac|m4a fragments|aac|webm opus)$/.test(encoding.name),
  );
  for (const [at, encoding] of chosen.entries()) {
    it(`includes the second minute as ${encoding.name}`, async () => {
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

  it('is tested with enough false headers', () => {
    expect(tried.length).toBeGreaterThanOrEqual(isLong() ? 300 : 15);
  });
});

it('returns the length of an output in the formats that clients receive', async () => {
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
 * True for a WAV whose two sizes both exceed the file, as if it were cut, and for an Opus page with a position above
 * 2^62, which the demuxer refuses.
 */
function isRefusedOnPurpose(encoding: Encoding, lie: Lie, spoof: Spoof): boolean {
  if (encoding.format === 'wav') return lie === 'longer' && spoof.field === 'both sizes';
  return encoding.name === 'opus' && (lie === 'nan' || lie === 'huge') && spoof.field.includes('granule');
}
