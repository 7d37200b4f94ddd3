/** The services that the jobs of these tests go to: simulators, each with one way of behaving. */
import { simulatedVoice, simulator } from '../harness/simulatedVoices.ts';

export const PRICE_NANO = 100_000_000n;

const PROVIDERS = {
  /** Answers with the result at once. */
  instant: simulator({}),
  /** Runs for a while and is asked several times. */
  slow: simulator({ latencyMs: 1_200 }),
  /** Says no. */
  refusing: simulator({ outcome: 'content_policy' }),
  /** Takes the order, loses its reply, and can be asked by our reference. */
  silent: simulator({ latencyMs: 300, faults: [{ at: 'submit', kind: 'reply-lost', every: 1 }] }),
  /** Runs for ever, until it is cancelled. */
  endless: simulator({ latencyMs: 100, outcome: 'hang' }),
};

export type ProviderName = keyof typeof PROVIDERS;

export interface KillConfigOptions {
  retentionHours?: number;
}

export function killConfig(options: KillConfigOptions = {}): object {
  return {
    providers: PROVIDERS,
    models: Object.keys(PROVIDERS).map((provider) => simulatedVoice(provider, 0.1)),
    media: { retentionHours: options.retentionHours ?? 1 },
    jobs: { deadlineMinutes: 5, pollFirstMs: 150, pollLongestMs: 500 },
  };
}
