/** Features that a deployment or a model lacks are refused by name before any hold or call. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTextWorld, type TextWorld, textModel } from '../textWorld.ts';
import { says, startWebWorld, type WebWorld } from './webWorld.ts';

const X = { enable_x_search: true };
const searchesX = { ...textModel({}).spec, capabilities: { supportsXSearch: true } };

let plain: TextWorld;
let world: WebWorld;

beforeAll(async () => {
  plain = await startTextWorld();
  world = await startWebWorld([textModel({ id: 'x-offline', spec: searchesX })]);
});

afterAll(async () => {
  await plain.close();
  await world.close();
});

async function refusal(response: Response): Promise<unknown[]> {
  const { error, issues } = (await response.json()) as { error: string; issues?: { path: string[] }[] };
  return [response.status, error, issues?.[0]?.path];
}

describe('a refusal with the name of the field for', () => {
  it.each(['on', 'auto'])('a search (%s) without an engine', async (mode) => {
    const response = await plain.chat(says('Hello', { enable_web_search: mode }));
    const words = 'enable_web_search is not configured on this service';
    expect(await refusal(response)).toEqual([400, words, ['service_parameters']]);
    expect(plain.stub.received).toEqual([]);
  });

  it('a search with a model without web search', async () => {
    const response = await world.text.chat({
      ...says('Hello', { enable_web_search: 'on' }),
      model: 'gpt-plain',
    });
    expect(await refusal(response)).toEqual([
      ...[400, 'gpt-plain does not support web search', ['service_parameters']],
    ]);
  });

  it('a search on X when the provider has none', async () => {
    const response = await world.text.chat({ ...says('Hello', X), model: 'x-offline' });
    const words = 'enable_x_search is not configured on this service for x-offline';
    expect(await refusal(response)).toEqual([400, words, ['service_parameters']]);
  });

  it('a minimum temperature above the maximum', async () => {
    const response = await world.text.chat({ ...says('Hello'), min_temp: 1, max_temp: 0.5 });
    expect(await refusal(response)).toEqual([400, expect.any(String), ['min_temp']]);
  });
});

describe('no refusal for', () => {
  it('reading pages without an engine', async () => {
    const response = await plain.chat(says('no address here', { enable_web_scraping: true }));
    expect(response.status).toBe(200);
  });

  it('a search on X with a model without it, which the answer shows as ignored', async () => {
    const response = await world.text.chat(says('Hello', X));
    const { service_parameters: shown } = (await response.json()) as { service_parameters: object };
    expect([response.status, shown]).toEqual([200, expect.objectContaining({ enable_x_search: false })]);
  });
});
