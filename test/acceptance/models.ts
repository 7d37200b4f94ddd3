/** Models of the acceptance tests, as an operator would write them into the configuration file. */

/** Simulated voice changers by what their service does; each is priced 0.05 a minute, up to ten minutes. */
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
