/** A text world with decision models behind the OpenAI stub, an Anthropic stub and the simulator. */
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { DecisionModel } from '../../../domain/catalogue/model.ts';
import type { Config } from '../../../infra/config/config.ts';
import { type AnthropicStub, startAnthropicStub } from '../../stubs/anthropic.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

export interface DecisionWorld extends TextWorld {
  anthropic: AnthropicStub;
  decide(body: object, init?: RequestInit): Promise<Response>;
  entries(): Promise<{ sku: string; amountNano: bigint; promptTokens: number; completionTokens: number }[]>;
}

/** USD per million tokens, like the published model. */
const IN = 0.042;

export function decisionModel(changes: Partial<DecisionModel>): DecisionModel {
  return {
    ...{ id: 'judge', provider: 'stub', upstreamModel: 'gpt-stub', privacy: 'private', name: 'judge' },
    ...{ description: '', modelSource: '', created: 0, kind: 'decision', type: 'decision' },
    spec: {
      ...{ maxStateTokens: 32_000, maxTotalTokens: 64_000 },
      pricing: { input: { usd: IN, diem: IN }, output: { usd: 0, diem: 0 } },
    },
    ...changes,
  };
}

/** One model for each evaluation method. */
const MODELS = [
  decisionModel({}),
  decisionModel({ id: 'jev-latest', privacy: 'anonymized' }),
  decisionModel({ id: 'judge-narrow', evaluation: { topLogprobs: 5 } }),
  decisionModel({ id: 'judge-second', provider: 'second' }),
  // Not a model of OpenAI, which refuses template arguments.
  decisionModel({
    id: 'judge-thinking',
    upstreamModel: 'embed-stub',
    evaluation: { turnOffThinking: true },
  }),
  decisionModel({ id: 'judge-sampled', evaluation: { method: 'sampling', samples: 4 } }),
  decisionModel({ id: 'judge-claude', provider: 'claude', upstreamModel: 'claude-haiku-4-5' }),
  decisionModel({ id: 'judge-offline', provider: 'nobody' }),
];

export async function startDecisionWorld(): Promise<DecisionWorld> {
  const anthropic = await startAnthropicStub();
  const more = (config: Config): Config => {
    const models = [...config.models.filter(({ id }) => id !== 'jev-latest'), ...MODELS];
    const { baseUrl } = anthropic;
    const claude = {
      kind: 'anthropic',
      baseUrl,
      allowPrivateNetwork: true,
      apiKeyEnv: 'CLAUDE_KEY',
    } as const;
    const secret: Config['secret'] = (name) => (name === 'CLAUDE_KEY' ? anthropic.apiKey : config.secret(name));
    const providers = { ...config.providers, claude };
    return { ...config, secret, providers, models, modelCatalogue: createCatalogue(models) };
  };
  const world = await startTextWorld(more);
  const { sql } = world.api.opened.dependencies.core;
  return {
    ...world,
    anthropic,
    decide: (body, init = {}) =>
      world.api.call('/decisions', {
        ...{ method: 'POST', key: world.key, ...init },
        headers: { 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify({
          ...{ model: 'judge', state: 'The parcel arrived broken.' },
          questions: { broken: { type: 'noul', instructions: 'Is it broken?' } },
          ...body,
        }),
      }),
    async entries() {
      const { rows } = await sql.query(
        'select sku, amount_nano, prompt_tokens, completion_tokens from usage_entries where account_id = $1 order by id',
        [world.accountId],
      );
      return rows.map((row) => ({
        sku: row.sku,
        amountNano: BigInt(row.amount_nano),
        promptTokens: Number(row.prompt_tokens),
        completionTokens: Number(row.completion_tokens),
      }));
    },
    async close() {
      await world.close();
      await anthropic.close();
    },
  };
}
