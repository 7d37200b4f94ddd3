/** The services that the jobs of these tests go to: simulators, each with one way of behaving. */
import { music, OF_PICTURES, video } from '../acceptance/generation/models.ts';
import { modelId, simulatedVoice, simulator } from '../harness/simulatedVoices.ts';

export const PRICE_NANO = 100_000_000n;

const PROVIDERS = {
  /** Answers with the result at once. */
  instant: simulator({}),
  /** Runs for a while and is asked several times. */
  slow: simulator({ latencyMs: 1_200 }),
  /** Runs for so long that it is asked several times on a busy machine, too. */
  patient: simulator({ latencyMs: 6_000 }),
  /** Says no. */
  refusing: simulator({ outcome: 'content_policy' }),
  /** Takes the order, loses its reply, and can be asked by our reference. */
  silent: simulator({ latencyMs: 300, faults: [{ at: 'submit', kind: 'reply-lost', every: 1 }] }),
  /** Runs for ever, until it is cancelled. */
  endless: simulator({ latencyMs: 100, outcome: 'hang' }),
};

export type ProviderName = keyof typeof PROVIDERS;

const PRICE = { usd: 0.1, diem: 0.1 };
/** What is sold beside voices, each by a service of its own that answers at once. */
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
