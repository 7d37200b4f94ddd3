/** Chats with a character: its model answers, or the requested one while that is offline (MODEL-11). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { Config } from '../../../infra/config/config.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

interface Completion {
  model: string;
  choices: { message: { content: string } }[];
}

describe('on a fresh machine', () => {
  let api: TestApi;
  let key: string;
  beforeAll(async () => {
    api = await startApi();
    key = (await api.fundedKey('INFERENCE')).secret;
  });
  afterAll(() => api.stop());

  async function chat(model: string, slug: string): Promise<{ status: number; body: Completion }> {
    const response = await api.call('/chat/completions', {
      ...{ method: 'POST', key, headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({
        ...{ model, messages: [{ role: 'user', content: 'Hello there' }] },
        service_parameters: { character_slug: slug },
      }),
    });
    return { status: response.status, body: (await response.json()) as Completion };
  }

  it('every listed character answers by the requested model', async () => {
    const response = await api.call('/characters', { key });
    const { data } = (await response.json()) as { data: { slug: string }[] };
    expect(data.length).toBeGreaterThan(0);
    for (const { slug } of data) {
      const { status, body } = await chat('simulator-text', slug);
      expect([slug, status, body.model]).toEqual([slug, 200, 'simulator-text']);
      expect(body.choices[0]?.message.content).toContain('Hello there');
    }
  });

  it('a requested model that is offline itself gets 503, which names it', async () => {
    const { status, body } = await chat('llama-3.3-70b', 'chess-coach');
    expect([status, body]).toEqual([503, { error: expect.stringContaining('The model llama-3.3-70b is offline') }]);
  });

  it('an unknown character gets 404', async () => {
    expect((await chat('simulator-text', 'nobody')).status).toBe(404);
  });
});

describe('with its model', () => {
  const PROMPT = 'Speak like a lighthouse keeper.';
  let world: TextWorld;
  beforeAll(async () => {
    world = await startTextWorld(withCharacters);
  });
  afterAll(() => world.close());

  function withCharacters(config: Config): Config {
    const models = [...config.models, textModel({ id: 'gpt-absent', provider: 'nobody' })];
    const [pattern] = config.characters;
    if (!pattern) throw new Error('no character');
    const character = (slug: string, modelId: string) => ({ ...pattern, slug, modelId, systemPrompt: PROMPT });
    return {
      ...{ ...config, models, modelCatalogue: createCatalogue(models) },
      characters: [character('keeper', 'gpt-second'), character('absentee', 'gpt-absent')],
    };
  }

  it.each([
    ['online it answers', 'keeper', 'gpt-second'],
    ['offline the requested model answers, with the same system prompt', 'absentee', 'gpt-stub'],
  ])('%s', async (_when, slug, model) => {
    world.stub.received = [];
    world.second.received = [];
    const response = await world.chat({ service_parameters: { character_slug: slug } });
    expect([response.status, await response.json()]).toMatchObject([200, { model }]);
    const [called, other] = model === 'gpt-stub' ? [world.stub, world.second] : [world.second, world.stub];
    expect(other.received).toEqual([]);
    expect(called.received.map(({ body }) => body.messages?.[0])).toEqual([
      expect.objectContaining({ content: expect.stringContaining(PROMPT) }),
    ]);
  });
});
