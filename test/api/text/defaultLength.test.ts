/** A default answer length leaves room for the prompt in the context, because services refuse more. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const CONTEXT = 8_192;
const { spec } = textModel({});
const model = (id: string, changes: Partial<TextModel['spec']>) =>
  textModel({ id, provider: 'second', spec: { ...spec, availableContextTokens: CONTEXT, ...changes } });
const MODELS = [
  model('gpt-8k', {}),
  model('gpt-8k-brief', { maxCompletionTokens: 100 }),
  model('gpt-tiny', { availableContextTokens: 400 }),
  model('gpt-wide', { availableContextTokens: 100_000 }),
];

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld((loaded) => {
    const models = [...loaded.models, ...MODELS];
    return { ...loaded, models, modelCatalogue: createCatalogue(models) };
  });
});
afterAll(() => world.close());

const DRY = { headers: { 'x-service-dry-run': 'true' } };
const words = (count: number) => [{ role: 'user', content: 'responsibly '.repeat(count) }];

interface Bound {
  prompt_tokens: number;
  completion_tokens: number;
}

async function boundsOf(asked: object): Promise<Bound[]> {
  const { bounds } = (await (await world.chat(asked, DRY)).json()) as { bounds: Bound[] };
  return bounds;
}

/** Returns the answer length that the service was asked for. */
async function askedFor(asked: object): Promise<unknown> {
  const response = await world.chat(asked);
  expect(response.status).toBe(200);
  await response.text();
  const { max_tokens, max_completion_tokens } = (world.second.received.at(-1)?.body ?? {}) as Record<string, unknown>;
  return max_tokens ?? max_completion_tokens;
}

it.each([1, 100, 800, 1_200])('fits a prompt of %i words and its answer into the context', async (count) => {
  const asked = { model: 'gpt-8k', messages: words(count) };
  const [bound] = await boundsOf(asked);
  expect(bound && bound.prompt_tokens + bound.completion_tokens).toBe(CONTEXT);
  expect(await askedFor(asked)).toBe(bound?.completion_tokens);
});

it.each([
  ['gpt-8k', 1_024],
  ['gpt-tiny', 50],
])('sends %s a prompt that only the estimate finds too long', async (id, least) => {
  const messages = words(id === 'gpt-tiny' ? 100 : 2_500);
  const [bound] = await boundsOf({ model: id, messages });
  expect(bound?.prompt_tokens).toBeGreaterThan(id === 'gpt-tiny' ? 400 : CONTEXT);
  expect(await askedFor({ model: id, messages })).toBe(least);
});

it('keeps the length that the client requested', async () => {
  for (const wish of [{ max_tokens: 8_000 }, { max_completion_tokens: 8_000 }]) {
    const asked = { model: 'gpt-8k', messages: words(500), ...wish };
    expect([await askedFor(asked), (await boundsOf(asked))[0]?.completion_tokens]).toEqual([8_000, 8_000]);
  }
});

it('does not exceed the maximum answer of the model or of the default', async () => {
  expect(await askedFor({ model: 'gpt-8k-brief', messages: words(1) })).toBe(100);
  expect(await askedFor({ model: 'gpt-wide', messages: words(1) })).toBe(16_384);
});

it('gives each attempted model the length that its own context leaves', async () => {
  const bounds = await boundsOf({
    ...{ model: 'gpt-8k', messages: words(500) },
    fallbacks: [{ model: 'gpt-wide' }],
  });
  const [first, second] = bounds;
  expect(first && first.prompt_tokens + first.completion_tokens).toBe(CONTEXT);
  expect(second?.completion_tokens).toBe(16_384);
});
