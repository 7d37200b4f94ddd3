/** Simulated services, each with one behaviour. */
import { music, OF_PICTURES, video } from '../acceptance/generation/models.ts';
import { modelId, simulatedVoice, simulator } from '../harness/simulatedVoices.ts';

export const PRICE_NANO = 100_000_000n;

const PROVIDERS = {
  /** Returns the result at once. */
  instant: simulator({}),
  /** Runs for a while and is polled several times. */
  slow: simulator({ latencyMs: 1_200 }),
  /** Runs long enough to be polled several times on a busy machine, too. */
  patient: simulator({ latencyMs: 6_000 }),
  /** Refuses the content. */
  refusing: simulator({ outcome: 'content_policy' }),
  /** Accepts the order and loses its reply. Supports a lookup by our reference. */
  silent: simulator({ latencyMs: 300, faults: [{ at: 'submit', kind: 'reply-lost', every: 1 }] }),
  /** Runs until it is cancelled. */
  endless: simulator({ latencyMs: 100, outcome: 'hang' }),
};

export type ProviderName = keyof typeof PROVIDERS;

const PRICE = { usd: 0.1, diem: 0.1 };
/** Models of other kinds, each with its own service that returns at once. */
const STUDIOS = {
  music: { ...music(modelId('music'), { generation: PRICE }), provider: 'music' },
  film: {
    ...video(modelId('film'), { ...OF_PICTURES, price: { perGeneration: { any: PRICE } } }),
    provider: 'film',
  },
};

export interface KillConfigOptions {
  retentionHours?: number;
}

export interface KillConfig {
  providers: Record<string, object>;
  models: object[];
  media: object;
  jobs: object;
}

export function killConfig(options: KillConfigOptions = {}): KillConfig {
  return {
    providers: { ...PROVIDERS, music: simulator(), film: simulator() },
    models: [...Object.keys(PROVIDERS).map((provider) => simulatedVoice(provider, 0.1)), ...Object.values(STUDIOS)],
    media: { retentionHours: options.retentionHours ?? 1 },
    jobs: { deadlineMinutes: 5, pollFirstMs: 150, pollLongestMs: 500 },
  };
}
