/** The text world plus an Anthropic stub, with two clients for responses: the official SDK and plain HTTP. */
import OpenAI from 'openai';
import { createCatalogue } from '../../../../domain/catalogue/catalogue.ts';
import type { ProviderSettings } from '../../../../domain/providerSettings.ts';
import type { Config } from '../../../../infra/config/config.ts';
import { type AnthropicStub, startAnthropicStub } from '../../../stubs/anthropic.ts';
import { SILENT_MS, startTextWorld, type TextWorld, textModel } from '../textWorld.ts';

export interface ResponsesWorld extends TextWorld {
  anthropic: AnthropicStub;
  client: OpenAI;
  respond(body: object, init?: RequestInit & { key?: string }): Promise<Response>;
}

/**
 * `claude-haiku-4-5` is behind the Anthropic stub, `gpt-sealed` claims end-to-end encryption. `patienceMs` is the
 * timeout for a silent service.
 */
export async function startResponsesWorld(patienceMs = SILENT_MS): Promise<ResponsesWorld> {
  const anthropic = await startAnthropicStub();
  const world = await startTextWorld((config) => withMore(config, anthropic, patienceMs));
  const { api, key } = world;
  return {
    ...world,
    anthropic,
    client: new OpenAI({ baseURL: api.baseUrl, apiKey: key, maxRetries: 0 }),
    respond: (body, init = {}) =>
      api.call('/responses', {
        ...{ method: 'POST', key, ...init },
        headers: { 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify({ model: 'gpt-stub', input: 'Hello there', ...body }),
      }),
    async close() {
      await world.close();
      await anthropic.close();
    },
  };
}

function withMore(config: Config, { baseUrl, apiKey }: AnthropicStub, patienceMs: number): Config {
  const timeouts = { connectMs: 60_000, firstByteMs: patienceMs, idleMs: patienceMs };
  const { spec } = textModel({});
  const sealed = { ...spec, capabilities: { ...spec.capabilities, supportsE2EE: true } };
  const models = [
    ...config.models,
    textModel({ id: 'claude-haiku-4-5', upstreamModel: 'claude-haiku-4-5', provider: 'claude' }),
    textModel({ id: 'gpt-sealed', spec: sealed }),
  ];
  const claude = {
    kind: 'anthropic',
    ...{ baseUrl, allowPrivateNetwork: true, apiKeyEnv: 'STUB_KEY' },
    timeouts,
  } as const;
  const stub = { ...config.providers.stub, timeouts } as ProviderSettings;
  return {
    ...config,
    models,
    modelCatalogue: createCatalogue(models),
    providers: { ...config.providers, stub, claude },
    secret: (name) => (name === 'STUB_KEY' ? apiKey : config.secret(name)),
  };
}

export interface StreamEvent {
  /** From the line `event:`. */
  name: string;
  data: { type: string; sequence_number?: number; [field: string]: unknown };
}

/** Returns the events of a complete stream, whose last line must be `[DONE]`. */
export function eventsOf(text: string): StreamEvent[] {
  const frames = text.trimEnd().split('\n\n');
  if (frames.pop() !== 'data: [DONE]') throw new Error('no [DONE] at the end');
  return frames.map((frame) => {
    const [, name = '', data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? [];
    return { name, data: JSON.parse(data) };
  });
}

/** Returns the request id of a response in the ledger. */
export function entryIdOf(responseId: string): string {
  return responseId.replace(/^resp_/, '');
}
