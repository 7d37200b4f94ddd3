/** Listed prices are charged: every tier of every published model, by the route and in the ledger. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { IMAGE_MODELS } from '../../../domain/catalogue/builtin/images.ts';
import { INPAINT_MODELS } from '../../../domain/catalogue/builtin/inpaint.ts';
import type { ByQuality, ByResolution, PublishedPrice } from '../../../domain/catalogue/specs.ts';
import { CARD, type ImageWorld, openImageWorld, withStub } from './world.ts';

let world: ImageWorld;
beforeAll(async () => {
  world = await openImageWorld(withStub([]));
});
afterAll(() => world.api.stop());

const IS_LONG = process.env.FAREBOX_TEST_LONG === '1';
const image = CARD.toString('base64');
const nano = (usd: number) => Math.round(usd * 1e9);

interface Call {
  path: string;
  body: Record<string, unknown>;
  entry: string;
}

/** Returns the possible orders of a model with these prices, each with its listed price in USD. */
function tiersOf(
  plain: PublishedPrice | undefined,
  resolutions: ByResolution | undefined,
  quality: ByQuality | undefined,
): [object, number][] {
  if (!resolutions) return [[{}, plain?.usd ?? Number.NaN]];
  if (!quality) return Object.entries(resolutions).map(([resolution, { usd }]) => [{ resolution }, usd]);
  return Object.entries(quality).flatMap(([resolution, tiers]) =>
    Object.entries(tiers).map(([tier, { usd }]): [object, number] => [{ resolution, quality: tier }, usd]),
  );
}

function* edits(): Generator<Call> {
  for (const { id, spec } of INPAINT_MODELS.filter((model) => model.spec.pricing)) {
    const { inpaint, resolutions, quality, inputImages } = spec.pricing ?? {};
    for (const imageCount of [1, 3]) {
      const extra = inputImages ? Math.max(0, imageCount - inputImages.included) * inputImages.additional.usd : 0;
      const images = Array(imageCount).fill(image);
      for (const [more, usd] of tiersOf(inpaint, resolutions, quality)) {
        const body = { modelId: id, prompt: 'x', images, ...more };
        yield { path: '/image/multi-edit', body, entry: `${id}-image-unit ${nano(usd + extra)}` };
      }
    }
  }
}

function* pictures(): Generator<Call> {
  for (const { id, spec, imageUse } of IMAGE_MODELS) {
    const { generation, resolutions, quality } = spec.pricing;
    if (imageUse === 'cutout') {
      const entry = `${id}-image-unit ${nano(generation?.usd ?? Number.NaN)}`;
      yield { path: '/image/background-remove', body: { image }, entry };
      continue;
    }
    for (const variants of [1, 4]) {
      for (const [more, usd] of tiersOf(generation, resolutions, quality)) {
        const body = { model: id, prompt: 'x', variants, ...more };
        yield { path: '/image/generate', body, entry: `${id}-image-unit ${nano(usd * variants)}` };
      }
    }
  }
}

const UPSCALES: Call[] = [2, 2.5, 3, 4].map((scale) => ({
  path: '/image/upscale',
  body: { image, scale },
  entry: `upscaler-image-unit ${nano(scale <= 2 ? 0.02 : 0.08)}`,
}));

const CALLS = [...edits(), ...pictures(), ...UPSCALES];
/** Every third call, and all calls with quality tiers. */
const SAMPLE = CALLS.filter(({ body }, index) => IS_LONG || index % 3 === 0 || body.quality !== undefined);

it(`charges and quotes ${SAMPLE.length} of ${CALLS.length} orders at the listed price`, async () => {
  for (const { path, body, entry } of SAMPLE) {
    const quoted = await world.post(path, body, { 'x-service-dry-run': 'true' });
    const { cost } = (await quoted.json()) as { cost: { usd: number } };
    const before = await world.spent();
    const response = await world.post(path, body);
    await response.arrayBuffer();
    const entries = (await world.spent()).slice(before.length);
    expect([path, body, response.status, entries]).toEqual([path, body, 200, [entry]]);
    expect(`${entry.split(' ')[0]} ${nano(cost.usd)}`).toBe(entry);
  }
});
