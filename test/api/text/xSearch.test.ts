/** A search on X is done by the model: requested in the form of its service, for a cent with the answer. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import type { XSearchForm } from '../../../providers/openai/settings.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld((config) => {
    const capabilities = { ...textModel({}).spec.capabilities, supportsXSearch: true };
    const spec = { ...textModel({}).spec, capabilities };
    const entry = (xSearch: XSearchForm) => ({ ...config.providers.stub, xSearch }) as ProviderSettings;
    const model = (id: string) => textModel({ id, provider: id, upstreamModel: 'x-stub', spec });
    const models = [...config.models, model('tool'), model('search_parameters')];
    return {
      ...config,
      ...{ models, modelCatalogue: createCatalogue(models) },
      providers: {
        ...config.providers,
        ...{ tool: entry('tool'), search_parameters: entry('search_parameters') },
      },
    };
  });
  world.stub.models.push('x-stub');
});

afterAll(() => world.close());

const X = { service_parameters: { enable_x_search: true } };

it.each([
  ['tool', { tools: [{ type: 'x_search' }] }],
  ['search_parameters', { search_parameters: { mode: 'on', sources: [{ type: 'x' }] } }],
])('requests the search by %s', async (model, sent) => {
  const response = await world.chat({ model, ...X });
  const answer = (await response.json()) as {
    id: string;
    cost: { usd: number };
    usage: { prompt_tokens: number; completion_tokens: number };
    service_parameters: object;
  };
  expect([response.status, answer.service_parameters]).toEqual([
    200,
    expect.objectContaining({ enable_x_search: true }),
  ]);
  expect(world.stub.received.at(-1)?.body).toMatchObject(sent);
  await world.settled();
  const { prompt_tokens, completion_tokens } = answer.usage;
  const amount = 10_000_000n + BigInt(prompt_tokens * 1_000 + completion_tokens * 2_000);
  const entry = await world.entryOf(answer.id);
  expect([entry?.amountNano, BigInt(Math.round(answer.cost.usd * 1e9))]).toEqual([amount, amount]);
  expect(entry?.notes).toContain('X search 1 × 0.01 USD');
});

it('requests the search beside the functions of the client', async () => {
  const tools = [{ type: 'function', function: { name: 'look' } }];
  await world.chat({ model: 'tool', ...X, tools });
  expect(world.stub.received.at(-1)?.body.tools?.map(({ type }) => type)).toEqual(['function', 'x_search']);
});

it('sends and charges no search without a request for it', async () => {
  const response = await world.chat({ model: 'search_parameters' });
  const { cost } = (await response.json()) as { cost: { usd: number } };
  expect(cost.usd).toBeLessThan(0.01);
  expect(world.stub.received.at(-1)?.body).not.toHaveProperty('search_parameters');
});
