import { describe, expect, it } from 'vitest';
import { type SealedOrder, sealOrder, unsealOrder } from '../../../domain/generation/sealedOrder.ts';

describe('a sealed order', () => {
  it.each<[string, SealedOrder]>([
    ['audio', { order: { kind: 'audio', prompt: 'A “tune”\n\u2028😀', durationSeconds: 30 }, media: [] }],
    [
      'video',
      {
        order: { kind: 'video', prompt: 'A film', keyframes: [{ frameIndex: 0 }] },
        media: [
          { role: 'image', index: 0, url: 'https://example.com/a.png?x=1&y=2' },
          { role: 'element_video', index: 0, element: 1, sizeBytes: 12, sha256: 'ab' },
        ],
      },
    ],
  ])('with %s is read as it was written', (_kind, order) => {
    expect(unsealOrder(sealOrder(order))).toEqual(order);
  });

  it.each([
    ['nothing', ''],
    ['half of it', '{"order":{"kind":"audio"},"med'],
    ['null', 'null'],
    ['a list', '[]'],
    ['no order', '{"media":[]}'],
    ['an order without a kind', '{"order":{},"media":[]}'],
    ['an order that is null', '{"order":null,"media":[]}'],
    ['no media', '{"order":{"kind":"audio"}}'],
    ['media that are no list', '{"order":{"kind":"audio"},"media":{}}'],
  ])('is damaged if there is %s', (_what, text) => {
    expect(() => unsealOrder(text)).toThrow();
  });
});
