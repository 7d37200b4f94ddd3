/** An encrypted request passes unchanged to models with encryption and to no others. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const KEY = `04${'ab'.repeat(64)}`;
const HEADERS = {
  'x-service-tee-client-pub-key': KEY,
  'x-service-tee-model-pub-key': 'cd'.repeat(64),
  'x-service-tee-signing-algo': 'ecdsa',
};
const CIPHER = '04deadbeef'.repeat(30);

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld((config) => {
    const capabilities = { ...textModel({}).spec.capabilities, supportsE2EE: true, supportsWebSearch: true };
    const spec = { ...textModel({}).spec, capabilities };
    const sealed = textModel({ id: 'sealed', provider: 'enclave', upstreamModel: 'gpt-stub', spec });
    const claimed = textModel({ id: 'claimed', spec });
    const models = [...config.models, sealed, claimed];
    const enclave = { ...config.providers.stub, e2ee: true } as ProviderSettings;
    return {
      ...config,
      ...{ models, modelCatalogue: createCatalogue(models) },
      providers: { ...config.providers, enclave },
      brand: { name: 'service', aliases: ['acme'], systemPrompt: 'You are of the house.' },
    };
  });
});

beforeEach(() => {
  world.stub.received.length = 0;
  world.second.received.length = 0;
});

afterAll(() => world.close());

const ask = (more: object = {}, headers: Record<string, string> = HEADERS) =>
  world.chat({ model: 'sealed', messages: [{ role: 'user', content: CIPHER }], ...more }, { headers });

async function words(response: Response): Promise<unknown[]> {
  const { error } = (await response.json()) as { error: string };
  return [response.status, error];
}

describe('an encrypted request', () => {
  it.each([false, true])('passes unchanged, like its answer (stream: %s)', async (stream) => {
    world.stub.next.push({ tokens: [CIPHER] });
    const response = await ask({ stream });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(CIPHER);
    const [call] = world.stub.received;
    expect(call?.body.messages).toEqual([{ role: 'user', content: CIPHER }]);
    const { 'x-client-pub-key': client, 'x-model-pub-key': model, 'x-signing-algo': algorithm } = call?.headers ?? {};
    expect([client, model, algorithm]).toEqual([KEY, 'cd'.repeat(64), 'ecdsa']);
  });

  it('may use headers with the name of the brand', async () => {
    const headers = Object.fromEntries(
      Object.entries(HEADERS).map(([name, value]) => [name.replace('service', 'acme'), value]),
    );
    expect((await ask({}, headers)).status).toBe(200);
    expect(world.stub.received[0]?.headers['x-client-pub-key']).toBe(KEY);
  });

  it('has no fallback, because another model could not read it', async () => {
    world.stub.next.push({ status: 500, body: { error: { message: 'no' } } });
    expect((await ask({ fallbacks: [{ model: 'gpt-second' }] })).status).toBe(500);
    expect(world.second.received).toEqual([]);
  });

  it.each([
    ['signing-algo', 'rsa'],
    ['client-pub-key', 'not hex'],
    ['model-pub-key', undefined],
  ])('with a wrong %s is refused without repeating the value', async (name, value) => {
    const { [`x-service-tee-${name}`]: _, ...rest } = HEADERS as Record<string, string>;
    const response = await ask({}, value === undefined ? rest : { ...rest, [`x-service-tee-${name}`]: value });
    const body = (await response.json()) as { error: { message: string; type: string } };
    expect([response.status, body.error.type]).toEqual([400, 'invalid_request_error']);
    expect(body.error.message).toContain(`x-service-tee-${name}`);
    expect(world.stub.received).toEqual([]);
  });

  it.each([
    ['enable_web_scraping', { service_parameters: { enable_web_scraping: true } }],
    ['enable_x_search', { service_parameters: { enable_x_search: true } }],
    [
      'a media part',
      {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:text/plain;base64,QQ==' } }] }],
      },
    ],
  ])('is refused with %s', async (name, more) => {
    expect(await words(await ask(more))).toEqual([400, `${name} cannot be used with end-to-end encryption`]);
  });
});

describe('a model without encryption', () => {
  it.each(['gpt-stub', 'claimed'])('refuses the encryption headers and enable_e2ee (%s)', async (model) => {
    const refusal = [400, `${model} does not support end-to-end encryption (enable_e2ee)`];
    expect(await words(await ask({ model }))).toEqual(refusal);
    expect(await words(await ask({ model, service_parameters: { enable_e2ee: true } }, {}))).toEqual(refusal);
    expect(world.stub.received).toEqual([]);
  });

  it('answers requests without encryption', async () => {
    expect((await ask({ model: 'gpt-stub' }, {})).status).toBe(200);
    expect((await ask({ model: 'gpt-stub', service_parameters: { enable_e2ee: false } })).status).toBe(200);
    expect(world.stub.received.map(({ headers }) => headers['x-client-pub-key'])).toEqual([undefined, undefined]);
  });
});

it('logs no key and no content of it', async () => {
  await ask();
  await ask({}, { ...HEADERS, 'x-service-tee-signing-algo': 'canary-algorithm' });
  const { log } = world.api;
  expect(log.filter((line) => /abababab|cdcdcdcd|deadbeef|canary-algorithm/.test(line))).toEqual([]);
});
