import { describe, expect, it } from 'vitest';
import {
  canvasFor,
  cornersOf,
  trajectoryViews,
  viewFrom,
  WHOLE,
} from '../../../../providers/local/video/camera.ts';
import { optionValue, tableExpression } from '../../../../providers/local/video/filterText.ts';
import { shippedFont } from '../../../../providers/local/video/fontWidths.ts';
import { frameSize } from '../../../../providers/local/video/frames.ts';
import { moveOf } from '../../../../providers/local/video/picture.ts';
import { piecesOf } from '../../../../providers/local/video/pieces.ts';
import { sceneTexts } from '../../../../providers/local/video/sentences.ts';
import { evenShots } from '../../../../providers/local/video/shots.ts';
import { themeOf } from '../../../../providers/local/video/theme.ts';
import { typeset } from '../../../../providers/local/video/typeset.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../../harness/stall.ts';

describe('a frame', () => {
  it.each([
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['1080p', '1:1', 1080, 1080],
    ['1080p', '9:21', 822, 1920],
    ['480p', '4:3', 640, 480],
  ])('of %s and %s is %i by %i', (resolution, aspectRatio, width, height) => {
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
  ])('%j in %i s is told in the scenes %j', (prompt, seconds, scenes) => {
    expect(sceneTexts(prompt, seconds)).toEqual(scenes);
  });

  it('of 20,000 blanks, quotes or line breaks is split in time that grows with its length only', () => {
    for (const piece of [' ', '"', '\n', '. ', ' \n', '."']) {
      const startMs = ranMs();
      sceneTexts(piece.repeat(20_000 / piece.length), 30);
      expect(ranMs() - startMs, JSON.stringify(piece)).toBeLessThan(MAX_HOSTILE_MS);
    }
  });

  it.each([
    ['Waves on the beach at sunset', 'sea', undefined],
    ['Snow in the mountains', 'hills', 'snow'],
    ['A rainy street in the city', 'city', 'rain'],
    ['Trees of the forests', 'forest', undefined],
    ['An astronaut among the stars', 'space', undefined],
  ])('%j is set at: %s, %s', (text, place, weather) => {
    expect(themeOf(text, text)).toMatchObject({ place, ...(weather === undefined ? {} : { weather }) });
    expect(themeOf(text, text)).toEqual(themeOf(text, text));
  });

  it.each([
    ['Slowly zoom out over the harbour', 'out'],
    ['panning to the left', 'left'],
    ['tilt up to the sky', 'up'],
    ['a cat', 'in'],
  ])('%j moves the camera: %s', (prompt, move) => {
    expect(moveOf(prompt)).toBe(move);
  });
});

describe('text', () => {
  it.each([
    ['a short title', 'Hello'],
    ['a long text', 'many words of different lengths '.repeat(30)],
    ['a word without end', 'Donaudampfschifffahrtsgesellschaft'.repeat(12)],
    ['wide letters', 'W'.repeat(300)],
    ['other scripts', 'Съешь же ещё этих мягких французских булок Ξεσκεπάζω την ψυχοφθόρα'],
  ])('%s never runs over the edge', (_, text) => {
    const font = shippedFont();
    for (const size of [
      { width: 456, height: 256 },
      { width: 256, height: 456 },
      { width: 1280, height: 548 },
    ]) {
      const set = typeset(text, size, font);
      for (const line of set.lines) expect(font.widthOf(line) * set.fontSize).toBeLessThan(size.width * 0.9);
      expect(set.lines.length * set.lineHeight).toBeLessThan(size.height * 0.75);
      expect(set.fontSize).toBeGreaterThanOrEqual(8);
    }
  });

  it('is cut with an ellipsis, and only when it does not fit', () => {
    const size = { width: 456, height: 256 };
    expect(typeset('word '.repeat(400), size, shippedFont()).lines.at(-1)).toMatch(/…$/);
    expect(typeset('a b', size, shippedFont()).lines).toEqual(['a b']);
  });

  it('has Latin, Greek and Cyrillic letters in the shipped font', () => {
    for (const letter of 'AzÄßłΩψЖяѓ')
      expect(shippedFont().has(letter.codePointAt(0) ?? 0), letter).toBe(true);
    expect(shippedFont().has(0x65e5)).toBe(false);
  });
});

describe('shots', () => {
  it.each([
    [1, 24],
    [3, 24],
    [4, 192],
    [10, 720],
  ])('%i in %i frames cover all of them and overlap only their neighbours', (count, frames) => {
    const shots = evenShots(count, frames);
    expect([shots[0]?.from, shots.at(-1)?.to]).toEqual([0, frames]);
    for (const [index, shot] of shots.slice(1).entries()) {
      expect(shot.from).toBeLessThanOrEqual(shots[index]?.to ?? 0);
      expect(shot.to).toBeGreaterThan(shots[index]?.to ?? 0);
      if (index > 0) expect(shot.from).toBeGreaterThanOrEqual(shots[index - 1]?.to ?? 0);
    }
    const pieces = piecesOf(shots);
    expect(pieces.reduce((sum, { body }) => sum + body, 0)).toBe(frames);
    for (const [index, { head, body }] of pieces.entries()) {
      expect(head).toBe(pieces[index - 1]?.tail ?? 0);
      expect(body).toBeGreaterThan(0);
    }
  });
});

describe('a camera', () => {
  it('in front of a picture at its distance sees exactly the picture', () => {
    expect(viewFrom({ azimuth: 0, elevation: 0, distance: 1 })).toEqual(WHOLE);
    expect(cornersOf(WHOLE)).toEqual([0, 0, 1, 0, 0, 1, 1, 1]);
  });

  it('never looks past the picture from within its distance, from whatever side', () => {
    for (let azimuth = -720; azimuth <= 720; azimuth += 15) {
      for (let elevation = -90; elevation <= 90; elevation += 15) {
        expect(canvasFor([viewFrom({ azimuth, elevation, distance: 1 })])).toBeLessThan(1.0001);
      }
    }
  });

  it('is at each point at its time, and never beyond what the points say', () => {
    const at = (time: number, distance: number) => ({ time, azimuth: 0, elevation: 0, distance });
    const views = trajectoryViews([at(0, 1), at(0.5, 0.4), at(1, 0.8)], 97);
    expect(views).toHaveLength(97);
    expect(views[0]?.extent).toBeCloseTo(1);
    expect(views[48]?.extent).toBeCloseTo(0.4);
    expect(views[96]?.extent).toBeCloseTo(0.8);
    for (const { extent } of views) expect(extent).toBeGreaterThan(0.3999);
    const steps = views.slice(1).map((view, index) => Math.abs(view.extent - (views[index]?.extent ?? 0)));
    expect(Math.max(...steps)).toBeLessThan(0.03);
  });

  it('stands still before the first point and after the last', () => {
    const at = (time: number, distance: number) => ({ time, azimuth: 10, elevation: 5, distance });
    const views = trajectoryViews([at(0.4, 1), at(0.6, 0.5)], 101);
    expect(views[0]).toEqual(views[40]);
    expect(views[60]).toEqual(views[100]);
  });
});

describe('filter text', () => {
  it('keeps every sign of a value from ending it', () => {
    expect(optionValue("a:b'c\\d,e;f[g]")).toBe("a\\\\:b\\\\\\'c\\\\\\\\d\\,e\\;f\\[g\\]");
  });

  it('finds each value of a table, with no deeper a tree than its logarithm', () => {
    const values = Array.from({ length: 500 }, (_, index) => Math.round(1000 * Math.sin(index / 30)));
    const expression = tableExpression(values, 'n');
    const lt = (a: number, b: number) => a < b;
    const choose = new Function('n', 'lt', 'choose', `return ${expression.replaceAll('if(', 'choose(')}`);
    for (const [n, value] of values.entries()) {
      expect(choose(n, lt, (test: boolean, yes: number, no: number) => (test ? yes : no))).toBe(value);
    }
    expect(/(if\(lt\(n,\d+\),){11}/.test(expression)).toBe(false);
  });
});
