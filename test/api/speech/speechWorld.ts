/** An API whose speech models have providers that the test scripts. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { TtsModel } from '../../../domain/catalogue/model.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import type {
  MediaCallContext,
  MediaProvider,
  SpeechOrder,
  Transcript,
  TranscriptionOrder,
  VoiceSample,
} from '../../../providers/shared/mediaProvider.ts';
import { startApi, type TestApi } from '../startApi.ts';

interface Script {
  transcript: Transcript;
  chunks: Buffer[];
  /** Pause before each chunk. */
  pauseMs: number;
  /** Awaited before the last chunk. */
  beforeLast: Promise<void> | undefined;
  /** Thrown instead of an answer. */
  failure: unknown;
  /** Thrown before any charge. */
  refusal: unknown;
  /** Thrown after the chunks. */
  breaksWith: unknown;
  voice: string;
}

export interface SpeechWorld {
  api: TestApi;
  key: string;
  accountId: string;
  script: Script;
  /** Orders to the provider with their contexts. */
  asked: { order: TranscriptionOrder | SpeechOrder | VoiceSample; context: MediaCallContext }[];
  /** Returns `sku amount_nano` of each charge, oldest first. */
  spent(accountId?: string): Promise<string[]>;
  /** Returns the number of open holds. */
  held(): Promise<number>;
  newAccount(usd?: bigint): Promise<{ key: string; accountId: string }>;
  reset(): void;
  close(): Promise<void>;
}

const QUIET: Script = {
  transcript: { text: 'Ask not what your country can do for you.' },
  chunks: [Buffer.from('spoken '), Buffer.alloc(0), Buffer.from('words')],
  pauseMs: 0,
  beforeLast: undefined,
  failure: undefined,
  refusal: undefined,
  breaksWith: undefined,
  voice: 'service-voice-1',
};

/** Has a list of voices and one format, clones from one second on, and will be removed. */
const LISTED: TtsModel = {
  ...{ id: 'tts-listed', kind: 'tts', type: 'tts', provider: 'fal', upstreamModel: 'listed', name: 'Listed' },
  ...{ privacy: 'private', description: '', modelSource: '', created: 1 },
  listing: {
    deprecation: {
      ...{ autoRemap: false, date: '2020-01-01', removesAt: '2199-01-01' },
      replacementModelId: 'tts-kokoro',
    },
  },
  spec: {
    ...{ voices: ['Ann', 'Bob'], default_voice: 'Bob', supported_formats: ['wav'], default_format: 'wav' },
    voice_cloning: {
      ...{ mode: 'zero_shot', accepted_formats: ['wav', 'mp3'] },
      ...{ min_sample_seconds: 1, retention_days: 7 },
    },
    pricing: { input: { usd: 1, diem: 1 } },
  },
};

export async function startSpeechWorld(): Promise<SpeechWorld> {
  const api = await startApi({ config: withProviders });
  const { dependencies } = api.opened;
  const script = { ...QUIET };
  const asked: SpeechWorld['asked'] = [];
  const provider = scripted(script, asked);
  const providers = ['openai', 'fal', 'elevenlabs'].map((entry) => [entry, provider] as const);
  Object.assign(dependencies.providers, { mediaProviders: new Map(providers) });
  dependencies.limits.calls.overrideOf = () => ({ requestsPerMinute: 100_000, failedPer30s: 100_000 });
  const newAccount = async (usd = 10n ** 10n) => {
    const { secret, accountId } = await api.newKey('INFERENCE');
    const credit = { operationId: randomUUID(), accountId, currency: 'usd', notes: 'test' } as const;
    await grant(dependencies.core.sql, { ...credit, amount: usd });
    return { key: secret, accountId };
  };
  const { key, accountId } = await newAccount();
  return {
    ...{ api, key, accountId, script, asked, newAccount },
    async spent(of = accountId) {
      const { rows } = await dependencies.core.sql.query(
        'select sku, amount_nano::text as amount from usage_entries where account_id = $1 order by id',
        [of],
      );
      return rows.map(({ sku, amount }) => `${sku} ${amount}`);
    },
    async held() {
      return (await dependencies.core.sql.query('select from holds')).rowCount ?? 0;
    },
    reset() {
      Object.assign(script, QUIET);
      asked.length = 0;
    },
    close: () => api.stop(),
  };
}

/** Every speech model has a name at its provider, so no trait moves. */
function withProviders(config: Config): Config {
  const models = config.models.map((model) => ({ ...model, upstreamModel: model.upstreamModel ?? model.id }));
  return {
    ...config,
    providers: {
      ...config.providers,
      openai: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', allowPrivateNetwork: true },
      fal: { kind: 'fal' },
    },
    modelCatalogue: createCatalogue([...models, LISTED]),
    secret: (name) => config.secret(name) ?? 'test',
  };
}

function scripted(script: Script, asked: SpeechWorld['asked']): MediaProvider {
  const note = (order: SpeechWorld['asked'][number]['order'], context: MediaCallContext) => {
    asked.push({ order, context });
    if (script.failure !== undefined) throw script.failure;
  };
  const check = () => {
    if (script.refusal !== undefined) throw script.refusal;
  };
  return {
    checkTranscription: check,
    checkSpeech: check,
    async transcribe(order, context) {
      note(order, context);
      if (script.pauseMs > 0) await sleep(script.pauseMs, undefined, { signal: context.signal });
      return script.transcript;
    },
    async speak(order, context) {
      note(order, context);
      return { bytes: said(script, context.signal) };
    },
    async cloneVoice(sample, context) {
      note(sample, context);
      return script.voice;
    },
  };
}

async function* said({ chunks, pauseMs, beforeLast, breaksWith }: Script, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    if (chunk === chunks.at(-1)) await beforeLast;
    yield chunk;
  }
  if (breaksWith !== undefined) throw breaksWith;
}
