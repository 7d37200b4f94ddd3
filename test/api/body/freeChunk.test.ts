import { describe, expect, it } from 'vitest';
import { freeChunk } from '../../../api/body/readMultipart.ts';

describe('the release of a chunk', () => {
  it('frees its memory at once, without a garbage collection', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (let piece = 0; piece < 2_000; piece += 1) freeChunk(Buffer.allocUnsafeSlow(64 * 1024));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
  });

  it('does not free a chunk that may share its memory', () => {
    const whole = Buffer.alloc(64 * 1024, 1);
    freeChunk(whole.subarray(0, 32 * 1024));
    freeChunk(Buffer.from('short'));
    expect(whole.at(-1)).toBe(1);
    expect(whole.length).toBe(64 * 1024);
  });
});
