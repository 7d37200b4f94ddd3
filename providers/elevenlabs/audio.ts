/**
 * Audio from text. The model selects the operation: POST /v1/music for `music_…`, POST /v1/sound-generation for
 * `eleven_text_to_sound_…`, otherwise POST /v1/text-to-speech/{voice_id}. Fields and ranges follow the published
 * OpenAPI description. Omitted members get the service's default, as does `prompt_influence`, which an order cannot
 * set.
 */
import type { AudioOrder } from '../../domain/generation/audioOrder.ts';
import type { AudioRequest } from '../shared/provider.ts';
import { maxOutputBytes, OUTPUT_FORMAT, type Plan, pathVoice, refuseOrder } from './plannedCall.ts';

type AudioOption = Exclude<keyof AudioOrder, 'kind' | 'prompt'>;

interface Operation {
  /** Members of an order that the operation supports. */
  takes: readonly AudioOption[];
  plan(request: AudioRequest): Plan;
}

const MUSIC: Operation = { takes: ['durationSeconds', 'forceInstrumental'], plan: planMusic };
const SOUND: Operation = { takes: ['durationSeconds', 'loop'], plan: planSound };
const SPEECH: Operation = { takes: ['voice', 'languageCode', 'speed'], plan: planSpeech };

/** Name of each member in error messages. Members are checked in this order. */
const WORDS: Readonly<Record<AudioOption, string>> = {
  lyrics: 'lyrics',
  lyricsOptimizer: 'optimizer of lyrics',
  durationSeconds: 'duration',
  forceInstrumental: 'choice of instruments only',
  loop: 'loop',
  voice: 'voice',
  languageCode: 'language code',
  speed: 'speed',
};

export function planAudio(request: AudioRequest): Plan {
  const operation = operationOf(request.upstreamModel);
  const untaken = wishesOf(request).find((wish) => !operation.takes.includes(wish));
  // Refuse: dropping a paid option silently would be worse.
  if (untaken !== undefined) return refuseOrder(`The model takes no ${WORDS[untaken]}.`);
  return operation.plan(request);
}

function operationOf(upstreamModel: string): Operation {
  if (upstreamModel.startsWith('music_')) return MUSIC;
  return upstreamModel.startsWith('eleven_text_to_sound_') ? SOUND : SPEECH;
}

/** Options set beyond the prompt; `false` counts as unset. */
function wishesOf(request: AudioRequest): AudioOption[] {
  const wishes = Object.keys(WORDS) as AudioOption[];
  return wishes.filter((wish) => request[wish] !== undefined && request[wish] !== false);
}

function planMusic(request: AudioRequest): Plan {
  return post('/v1/music', request, {
    prompt: request.prompt,
    model_id: request.upstreamModel,
    music_length_ms: request.durationSeconds === undefined ? undefined : request.durationSeconds * 1_000,
    force_instrumental: request.forceInstrumental,
  });
}

function planSound(request: AudioRequest): Plan {
  return post('/v1/sound-generation', request, {
    text: request.prompt,
    model_id: request.upstreamModel,
    duration_seconds: request.durationSeconds,
    loop: request.loop,
  });
}

function planSpeech(request: AudioRequest): Plan {
  if (request.voice === undefined) return refuseOrder('The model needs a voice.');
  const voice = pathVoice(request.voice);
  if (voice === undefined) return refuseOrder('The voice id is malformed.');
  const plan = post(`/v1/text-to-speech/${encodeURIComponent(voice.id)}`, request, {
    text: request.prompt,
    model_id: request.upstreamModel,
    language_code: request.languageCode,
    voice_settings: request.speed === undefined ? undefined : { speed: request.speed },
  });
  return { ...plan, custom: voice.custom };
}

/** Undefined members of the body are not sent. */
function post(path: string, { durationSeconds }: AudioRequest, json: Record<string, unknown>) {
  const call = { method: 'POST' as const, path, query: { output_format: OUTPUT_FORMAT }, json };
  return { call, maxBytes: maxOutputBytes(durationSeconds), custom: false };
}
