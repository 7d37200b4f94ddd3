import type { AudioOrder } from '../../domain/generation/audioOrder.ts';

/**
 * Names the fields of an audio order as the published API does (AUDIO-1), for services whose own names are told from
 * them.
 */
export function audioFields(order: AudioOrder): Record<string, unknown> {
  return {
    prompt: order.prompt,
    lyrics_prompt: order.lyrics,
    duration_seconds: order.durationSeconds,
    force_instrumental: order.forceInstrumental,
    lyrics_optimizer: order.lyricsOptimizer,
    loop: order.loop,
    voice: order.voice,
    language_code: order.languageCode,
    speed: order.speed,
  };
}
