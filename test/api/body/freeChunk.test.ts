import { describe, expect, it } from 'vitest';
import { freeChunk } from '../../../api/body/readMultipart.ts';

describe('freeing a piece of a body', () => {
  it('gives its memory back at once, without a collection', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (let piece = 0; piece < 2_000; piece += 1) freeChunk(Buffer.allocUnsafeSlow(64 * 1024));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
  });

  it('leaves alone what may share its memory with others', () => {
    const whole = Buffer.alloc(64 * 1024, 1);
    freeChunk(whole.subarray(0, 32 * 1024));
    freeChunk(Buffer.from('short'));
    expect(whole.at(-1)).toBe(1);
    expect(whole.length).toBe(64 * 1024);
  });
});
