/** Models of the acceptance tests, as an operator configures them. */

/** Simulated voice changers by the behaviour of their service. Each costs 0.05 per minute, up to two minutes. */
export function simulatedModels(behaviours: Record<string, object>): { provider: object; models: object[] } {
  const names = Object.keys(behaviours);
  return {
    provider: { kind: 'simulator', models: behaviours },
    models: names.map((id) => voiceChanger(id, 'simulated')),
  };
}

export function voiceChanger(id: string, provider: string): object {
  return {
    id,
    type: 'music',
    provider,
    privacy: 'private',
    spec: {
      name: `Acceptance ${id}`,
      voice_changer: true,
      accepted_audio_formats: ['wav', 'mp3', 'flac'],
      max_source_audio_duration_seconds: 120,
      voices: ['alto', 'bass'],
      default_voice: 'alto',
      pricing: { durations: { 60: { usd: 0.05, diem: 0.05 }, 120: { usd: 0.1, diem: 0.1 } } },
    },
  };
}
