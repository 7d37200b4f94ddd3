/** Configuration of simulated voice changers: the service and its model. */

/** Service that returns the result at once unless `settings` say otherwise. */
export function simulator(settings: object = {}): object {
  return { kind: 'simulator', latencyMs: 0, outcome: 'done', faults: [], ...settings };
}

export function modelId(provider: string): string {
  return `model-${provider}`;
}

/** Model for at most one minute of WAV. `price` applies in USD and in diem. */
export function simulatedVoice(provider: string, price: number): object {
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
      pricing: { durations: { '60': { usd: price, diem: price } } },
    },
  };
}
