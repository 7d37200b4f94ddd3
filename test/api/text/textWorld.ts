/** An API with text models behind an OpenAI stub, and an account with funds. */
import { randomUUID } from 'node:crypto';
import { vi } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { type HeldTimers, holdTimers } from '../../harness/heldTimers.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';
import { startApi, type TestApi } from '../startApi.ts';

/** An upstream is given up that says nothing for so long after its stub hung, and none that is only slow. */
export const SILENT_MS = 1_501;

export interface TextWorld {
  api: TestApi;
  stub: OpenAiStub;
  /** The upstream of `gpt-second`. */
  second: OpenAiStub;
  key: string;
  accountId: string;
  chat(body: object, init?: RequestInit & { key?: string }): Promise<Response>;
  entryOf(chatId: string): Promise<Entry | undefined>;
  /** Resolves when no hold is open and no call is in flight. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

interface Entry {
  amountNano: bigint;
  promptTokens: number;
  completionTokens: number;
  notes: string;
}

/** USD per million tokens. Input is 1, output 2, cached input 0.1. */
const PRICE = (amount: number) => ({ usd: amount, diem: amount });

export function textModel(changes: Partial<TextModel>): TextModel {
  return {
    ...{ id: 'gpt-stub', provider: 'stub', upstreamModel: 'gpt-stub', privacy: 'private', name: 'gpt-stub' },
    ...{ description: '', modelSource: '', created: 0, kind: 'text', type: 'text', size: 'XS' },
    spec: {
      availableContextTokens: 100_000,
      capabilities: {
        ...{ supportsFunctionCalling: true, supportsResponseSchema: true, supportsLogProbs: true },
        ...{ supportsReasoning: true, supportsVision: true, supportsAudioInput: true },
      },
      pricing: { input: PRICE(1), output: PRICE(2), cache_input: PRICE(0.1) },
    },
    ...changes,
  };
}

export async function startTextWorld(
  more: (config: Config) => Config = (config) => config,
  routes: readonly Route[] = [],
): Promise<TextWorld> {
  const stub = await startOpenAiStub();
  const second = await startOpenAiStub();
  const silences = holdTimers(SILENT_MS);
  for (const each of [stub, second]) {
    each.apiKey = undefined;
    each.onHang = (response) => {
      const looks = setInterval(() => silences.fire(SILENT_MS), 100).unref();
      response.once('close', () => clearInterval(looks));
    };
  }
  const entry = ({ baseUrl }: OpenAiStub) => {
    const timeouts = { connectMs: 60_000, firstByteMs: SILENT_MS, idleMs: SILENT_MS };
    return { kind: 'openai', baseUrl, allowPrivateNetwork: true, timeouts } as const;
  };
  const models = [
    textModel({}),
    textModel({ id: 'gpt-second', provider: 'second' }),
    textModel({ id: 'gpt-public', privacy: 'anonymized' }),
    textModel({ id: 'gpt-plain', spec: { ...textModel({}).spec, capabilities: {} } }),
  ];
  const api = await startApi({
    routes,
    config: (config) =>
      more({
        ...config,
        providers: { ...config.providers, stub: entry(stub), second: entry(second) },
        models: [...config.models, ...models],
        modelCatalogue: createCatalogue([...config.models, ...models]),
      }),
  });
  const { sql } = api.opened.dependencies.core;
  const { secret: key, accountId } = await api.newKey('INFERENCE');
  const operationId = randomUUID();
  await grant(sql, { operationId, accountId, currency: 'usd', amount: 10n ** 12n, notes: 'test' });
  return worldOf({ api, stub, second, silences, key, accountId });
}

interface Opened extends Pick<TextWorld, 'api' | 'stub' | 'second' | 'key' | 'accountId'> {
  silences: HeldTimers;
}

function worldOf({ silences, ...opened }: Opened): TextWorld {
  const { api, stub, second, key, accountId } = opened;
  const { sql } = api.opened.dependencies.core;
  return {
    ...opened,
    chat: (body, init = {}) =>
      api.call('/chat/completions', {
        ...{ method: 'POST', key, ...init },
        headers: { 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify({
          model: 'gpt-stub',
          messages: [{ role: 'user', content: 'Hello there' }],
          ...body,
        }),
      }),
    async entryOf(chatId) {
      const { rows } = await sql.query(
        `select amount_nano, prompt_tokens, completion_tokens, notes from usage_entries
          where account_id = $1 and request_id = $2`,
        [accountId, chatId],
      );
      if (rows.length > 1) throw new Error(`${rows.length} entries of one request`);
      const [row] = rows;
      return (
        row && {
          amountNano: BigInt(row.amount_nano),
          promptTokens: Number(row.prompt_tokens),
          completionTokens: Number(row.completion_tokens),
          notes: row.notes,
        }
      );
    },
    settled: () =>
      vi.waitFor(
        async () => {
          const { rows } = await sql.query('select count(*)::int as open from holds');
          if (rows[0].open > 0) throw new Error(`${rows[0].open} holds are open`);
        },
        { timeout: 60_000, interval: 20 },
      ),
    async close() {
      await api.stop();
      await Promise.all([stub.close(), second.close()]);
      silences.release();
    },
  };
}
