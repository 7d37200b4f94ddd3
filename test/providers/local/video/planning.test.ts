import { describe, expect, it } from 'vitest';
import { shippedFont } from '../../../../providers/local/video/fontWidths.ts';
import { frameSize } from '../../../../providers/local/video/frames.ts';
import { pictureShots } from '../../../../providers/local/video/shots.ts';
import { fontSizeIn, optionValue, sceneTexts, titleLines } from '../../../../providers/local/video/titles.ts';
import type { MediaFile } from '../../../../providers/shared/provider.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../../harness/stall.ts';

describe('a frame', () => {
  it.each([
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['1080p', '1:1', 1080, 1080],
    ['1080p', '9:21', 822, 1920],
    ['480p', '4:3', 640, 480],
  ])('for %s and %s is %i by %i', (resolution, aspectRatio, width, height) => {
    expect(frameSize({ resolution, aspectRatio })).toEqual({ width, height });
  });
});

describe('a prompt', () => {
  it.each([
    ['One. Two! Three?', 10, ['One.', 'Two!', 'Three?']],
    ['One. Two! Three?', 4, ['One. Two!', 'Three?']],
    ['first\n\nsecond', 10, ['first', 'second']],
    ['one\nline', 10, ['one line']],
    ['“He left.” She stayed.', 10, ['“He left.”', 'She stayed.']],
    ['猫がいる。犬もいる。', 10, ['猫がいる。', '犬もいる。']],
    ['costs 3.50 now', 10, ['costs 3.50 now']],
    [' \n...! ', 10, ['']],
  ])('%j in %i s is split into the scenes %j', (prompt, seconds, scenes) => {
    expect(sceneTexts(prompt, seconds)).toEqual(scenes);
  });

  it('of 20,000 blanks, quotes or line breaks is split in linear time', () => {
    for (const piece of [' ', '"', '\n', '. ', ' \n', '."']) {
      const startMs = ranMs();
      sceneTexts(piece.repeat(20_000 / piece.length), 30);
      expect(ranMs() - startMs, JSON.stringify(piece)).toBeLessThan(MAX_HOSTILE_MS);
    }
  });
});

describe('text', () => {
  it.each([
    ['a short title', 'Hello'],
    ['a long text', 'many words of different lengths '.repeat(30)],
    ['a word without end', 'Donaudampfschifffahrtsgesellschaft'.repeat(12)],
    ['wide letters', 'W'.repeat(300)],
    ['other scripts', 'Съешь же ещё этих мягких французских булок Ξεσκεπάζω την ψυχοφθόρα'],
  ])('%s never exceeds the edge of the frame', (_, text) => {
    for (const size of [
      { width: 456, height: 256 },
      { width: 256, height: 456 },
      { width: 1280, height: 548 },
    ]) {
      const [lines, fontSize] = [titleLines(text, size), fontSizeIn(size)];
      for (const line of lines) expect(shippedFont().widthOf(line) * fontSize).toBeLessThan(size.width * 0.9);
      expect(lines.length * fontSize * 1.42).toBeLessThan(size.height * 0.75);
      expect(fontSize).toBeGreaterThanOrEqual(8);
    }
  });

  it('ends in an ellipsis only when it does not fit', () => {
    const size = { width: 456, height: 256 };
    expect(titleLines('word '.repeat(400), size).at(-1)).toMatch(/…$/);
    expect(titleLines('a b', size)).toEqual(['a b']);
    expect(titleLines('', size)).toEqual([]);
  });

  it('has Latin, Greek and Cyrillic letters in the shipped font', () => {
    for (const letter of 'AzÄßłΩψЖяѓ') expect(shippedFont().has(letter.codePointAt(0) ?? 0), letter).toBe(true);
    expect(shippedFont().has(0x65e5)).toBe(false);
  });
});

describe('shots', () => {
  const picture: MediaFile = {
    ...{
      role: 'image',
      index: 0,
      kind: 'image',
      sizeBytes: 1,
      sha256: '',
      contentType: 'image/png',
      path: '',
    },
  };
  it.each([
    [[0], 24],
    [[0, 17, 18, 47], 48],
    [[5, 6, 7], 24],
    [[0, 100, 719, 720], 720],
  ])('of images at %j cover all of %i frames, each with its own frame', (stills, frames) => {
    const keyframes = stills.map((frame) => ({ picture, frame }));
    const shots = pictureShots({ scenes: [], keyframes }, frames);
    expect([shots[0]?.from, shots.at(-1)?.to]).toEqual([0, frames]);
    for (const [index, { from, to, still }] of shots.entries()) {
      if (index > 0) expect(from).toBe(shots[index - 1]?.to);
      expect(still).toBe(Math.min(stills[index] ?? -1, frames - 1));
      expect(from <= still && still < to).toBe(true);
    }
  });
});

describe('filter text', () => {
  it('escapes every character that could end a value', () => {
    expect(optionValue("a:b'c\\d,e;f[g]")).toBe("a\\\\:b\\\\\\'c\\\\\\\\d\\,e\\;f\\[g\\]");
  });
});
