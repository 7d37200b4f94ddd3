/** Tokens held for images are no fewer than the service counts by its published formula. */
import { expect, it } from 'vitest';
import { TEXT_MODELS } from '../../../domain/catalogue/builtin/text.ts';
import { mediaTokensOf } from '../../../domain/text/promptSize.ts';

/** OpenAI's for gpt-4o-mini: within 2,048 pixels, the shorter side within 768, then tiles of 512. */
function openAiTokens(width: number, height: number): number {
  const fit = Math.min(1, 2_048 / Math.max(width, height));
  const shrink = Math.min(1, 768 / (fit * Math.min(width, height)));
  const tiles = (side: number) => Math.ceil(Math.max(1, Math.floor(side * fit * shrink)) / 512);
  return 2_833 + 5_667 * tiles(width) * tiles(height);
}

const mini = TEXT_MODELS.find(({ id }) => id === 'openai-gpt-4o-mini-2024-07-18');
const held = (width: number, height: number) =>
  mediaTokensOf(
    [
      {
        role: 'user',
        content: [{ type: 'image', pixels: width * height, bytes: Buffer.alloc(0), mediaType: 'image/png' }],
      },
    ],
    mini?.mediaTokens,
  );

it('holds the 25,501 tokens that gpt-4o-mini counts for an image of 1,024 × 1,024', () => {
  expect([openAiTokens(1_024, 1_024), held(1_024, 1_024) >= 25_501]).toEqual([25_501, true]);
});

it('never holds less for an image than gpt-4o-mini counts', () => {
  const sides = [1, 100, 511, 512, 513, 767, 768, 769, 1_024, 1_025, 1_536, 1_537, 2_048, 2_049, 4_000, 10_000];
  const tooFew = sides.flatMap((width) =>
    sides.filter((height) => held(width, height) < openAiTokens(width, height)).map((height) => [width, height]),
  );
  expect(tooFew).toEqual([]);
});
