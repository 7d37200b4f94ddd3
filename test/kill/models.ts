/** The services that the jobs of these tests go to: simulators, each with one way of behaving. */
export const PRICE_NANO = 100_000_000n;

const simulator = (settings: object) => ({
  kind: 'simulator',
  latencyMs: 0,
  outcome: 'done',
  faults: [],
  ...settings,
});

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

function modelOf(provider: string): object {
  return {
    id: modelId(provider),
    type: 'music',
    provider,
    privacy: 'private',
    spec: {
      name: provider,
      voice_changer: true,
      accepted_audio_formats: ['wav'],
      max_source_audio_duration_seconds: 60,
      default_voice: 'alto',
      pricing: { durations: { '60': { usd: 0.1, diem: 0.1 } } },
    },
  };
}

export function modelId(provider: string): string {
  return `model-${provider}`;
}

export interface KillConfigOptions {
  retentionHours?: number;
}

export function killConfig(options: KillConfigOptions = {}): object {
  return {
    providers: PROVIDERS,
    models: Object.keys(PROVIDERS).map(modelOf),
    media: { retentionHours: options.retentionHours ?? 1 },
    jobs: { deadlineMinutes: 5, pollFirstMs: 150, pollLongestMs: 500 },
  };
}
