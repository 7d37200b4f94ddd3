/** What a configuration needs for voice changers that are simulated: the service's behaviour, and the model on top. */

/** A service that answers at once with the result, but for what the settings say. */
export function simulator(settings: object = {}): object {
  return { kind: 'simulator', latencyMs: 0, outcome: 'done', faults: [], ...settings };
}

export function modelId(provider: string): string {
  return `model-${provider}`;
}

/** One minute of WAV at most, at this price in USD and in diem. */
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
