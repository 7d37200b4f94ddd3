import { describe, expect, it } from 'vitest';
import { completePlan } from '../../../domain/images/editing/measure.ts';
import { planEdit } from '../../../domain/images/editPrompt.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../harness/stall.ts';
import { UNDERSTOOD } from './editPrompts.ts';
import { REFUSED } from './refusedPrompts.ts';

describe('an edit prompt', () => {
  it('is parsed into the named steps, in their order', () => {
    for (const [prompt, images, plan] of UNDERSTOOD) {
      expect([prompt, planEdit(prompt, images)]).toEqual([prompt, plan]);
    }
  });

  it('is refused as a whole if a part of it is unknown, contradictory or empty', () => {
    for (const [prompt, images, why] of REFUSED) {
      expect(refusalOf(() => planEdit(prompt, images)).slice(0, why.length + 36)).toContain(why);
    }
  });

  it('is parsed or refused quickly, whatever it contains', () => {
    const pieces = [
      '"',
      "'",
      'a',
      '1',
      ' ',
      '-',
      '+1',
      'blur,',
      'blur and ',
      'x',
      '1x',
      '16:',
      '\u0000',
      '\ud83d',
      '“',
      'é',
      'image 2 ',
    ];
    for (const piece of pieces) {
      const prompt = piece.repeat(Math.ceil(32_768 / piece.length)).slice(0, 32_768);
      const startMs = ranMs();
      expect(refusalOf(() => planEdit(prompt, 2)).length).toBeLessThan(700);
      expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
    }
  });

  it('has at most 24 steps', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `blur by ${at + 1}px`).join(', ');
    expect(planEdit(many(24), 1)).toHaveLength(24);
    expect(refusalOf(() => planEdit(many(25), 1))).toContain('more than 24');
  });

  it('ends with the ratio and the size of the request', () => {
    const plan = planEdit('brighten', 1);
    const base = { width: 3_000, height: 2_000 };
    const added = (wishes: Parameters<typeof completePlan>[2], size = base) =>
      completePlan(plan, size, wishes).slice(1);
    expect(added({})).toEqual([]);
    expect(added({ resolution: '1K' })).toEqual([{ do: 'longSide', pixels: 1_024 }]);
    expect(added({ resolution: '4K' })).toEqual([{ do: 'longSide', pixels: 4_096 }]);
    expect(added({ resolution: '1K' }, { width: 512, height: 512 })).toEqual([]);
    expect(added({ aspectRatio: '1:1' })).toMatchObject([{ do: 'crop', ratio: 1 }]);
  });

  it('is refused if its result would be too large, or the image unchanged', () => {
    const square = { width: 512, height: 512 };
    const why = (prompt: string, base: { width: number; height: number }, resolution?: string) =>
      refusalOf(() => completePlan(planEdit(prompt, 1), base, resolution === undefined ? {} : { resolution }));
    expect(why('make it square', square)).toContain('nothing would change');
    expect(why('resize to 512x512', square)).toContain('nothing would change');
    expect(why('crop to 600x600', square)).toContain('smaller than the piece');
    expect(why('make it 8x', { width: 5_000, height: 5_000 })).toContain('at most 33177600 pixels');
    expect(why('resize to 2000x1000', square, '1K')).toContain('higher "resolution"');
  });
});

function refusalOf(work: () => unknown): string {
  try {
    return `no refusal: ${JSON.stringify(work())}`;
  } catch (error) {
    expect(error).toMatchObject({
      name: 'FareboxError',
      code: expect.stringMatching(/^(?:unsupported_feature|invalid_request)$/),
    });
    return (error as Error).message;
  }
}
