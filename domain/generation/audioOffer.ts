/** Builds an order with its price from the fields of a request, for the queue and the quote (AUDIO-1). */
import { CUSTOM_VOICE_ID } from '../catalogue/chooseVoice.ts';
import type { MusicModel } from '../catalogue/model.ts';
import type { MusicSpec } from '../catalogue/specs.ts';
import { charactersOf } from '../speech/price.ts';
import type { AudioOrder } from './audioOrder.ts';
import { type Terms, termsOf, unsupported, type WrongField, wrongField } from './terms.ts';

/** Fields of POST /audio/queue except the model, with checked shape. */
export interface AudioFields {
  prompt: string;
  lyrics_prompt?: string | undefined;
  duration_seconds?: number | undefined;
  force_instrumental?: boolean | undefined;
  lyrics_optimizer?: boolean | undefined;
  loop?: boolean | undefined;
  voice?: string | undefined;
  language_code?: string | undefined;
  speed?: number | undefined;
}

const MIN_PROMPT_LENGTH = 10;
const MAX_PROMPT_LENGTH = 10_000;
const MAX_LYRICS_LENGTH = 4_096;
const SLOWEST = 0.25;
const FASTEST = 4;

/** Parameters of the price of an order. */
export interface AudioUsage {
  characters: number;
  /** Absent when the model has no choice of lengths. */
  durationSeconds?: number;
}

export type AudioOffer = { ok: true; order: AudioOrder; usage: AudioUsage; terms: Terms } | WrongField;

/** Applies all rules and defaults of the model: the order is complete. */
export function offerAudio(model: MusicModel, fields: AudioFields): AudioOffer {
  const { spec } = model;
  const prompt = fields.prompt.trim();
  const duration = durationOf(spec, fields.duration_seconds);
  if (!duration.ok) return duration;
  const problem =
    wrongPrompt(spec, prompt) ?? wrongLyrics(spec, fields) ?? wrongOption(spec, fields) ?? wrongVoice(spec, fields);
  if (problem) return problem;
  const order: AudioOrder = { kind: 'audio', prompt, ...optionsOf(spec, fields), ...duration.member };
  const usage = { characters: charactersOf(prompt), ...duration.member };
  const terms = priceAudio(model, usage);
  if (terms === undefined) return noPrice(spec);
  return { ok: true, order, usage, terms };
}

type AudioDurationResult = { ok: true; member: { durationSeconds?: number } } | WrongField;

/** Lengths that a model supports, from its entry or its price tiers; undefined when there are none. */
function lengthsOf(spec: MusicSpec): { least: number; most: number; usual: number | undefined } | undefined {
  const tiers = Object.entries(spec.pricing.durations ?? {})
    .map(([ceiling, tier]) => ({ from: tier.min_seconds, to: Number(ceiling) }))
    .sort((left, right) => left.to - right.to);
  const options = [...(spec.duration_options ?? [])].sort((left, right) => left - right);
  const least = options[0] ?? spec.min_duration ?? (tiers.length > 0 ? 1 : undefined);
  const most = options.at(-1) ?? spec.max_duration ?? tiers.at(-1)?.to;
  if (least === undefined && most === undefined) return undefined;
  const usual = spec.default_duration ?? options[0] ?? tiers[0]?.to;
  return { least: least ?? 1, most: most ?? MAX_SECONDS, usual };
}

const MAX_SECONDS = 3_600;

export function durationOf(spec: MusicSpec, wanted: number | undefined): AudioDurationResult {
  const lengths = lengthsOf(spec);
  if (lengths === undefined) return wanted === undefined ? { ok: true, member: {} } : unsupported('duration_seconds');
  const seconds = wanted ?? lengths.usual;
  if (seconds === undefined) {
    return spec.pricing.per_second === undefined
      ? { ok: true, member: {} }
      : wrongField('duration_seconds', 'This model is priced by the second: duration_seconds is required');
  }
  const options = spec.duration_options;
  if (options !== undefined && options.length > 0 && !options.includes(seconds)) {
    return wrongField('duration_seconds', `Must be one of ${options.join(', ')} for this model`);
  }
  if (seconds < lengths.least || seconds > lengths.most) {
    return wrongField('duration_seconds', `Must be from ${lengths.least} to ${lengths.most} for this model`);
  }
  return { ok: true, member: { durationSeconds: seconds } };
}

function wrongPrompt(spec: MusicSpec, prompt: string): WrongField | undefined {
  const characters = charactersOf(prompt);
  const least = spec.min_prompt_length ?? MIN_PROMPT_LENGTH;
  const most = spec.prompt_character_limit ?? MAX_PROMPT_LENGTH;
  if (characters < least) return wrongField('prompt', `Must have at least ${least} characters for this model`);
  if (characters > most) return wrongField('prompt', `Must have at most ${most} characters for this model`);
  return undefined;
}

function wrongLyrics(spec: MusicSpec, fields: AudioFields): WrongField | undefined {
  const lyrics = fields.lyrics_prompt;
  if (lyrics === undefined) {
    const missing = spec.lyrics_required === true && fields.lyrics_optimizer !== true;
    return missing ? wrongField('lyrics_prompt', 'This model needs lyrics') : undefined;
  }
  if (spec.supports_lyrics !== true && spec.lyrics_required !== true) return unsupported('lyrics_prompt');
  if (fields.lyrics_optimizer === true) {
    return wrongField('lyrics_prompt', 'lyrics_prompt and lyrics_optimizer exclude each other');
  }
  const most = spec.lyrics_character_limit ?? MAX_LYRICS_LENGTH;
  if (charactersOf(lyrics) > most)
    return wrongField('lyrics_prompt', `Must have at most ${most} characters for this model`);
  return undefined;
}

function wrongOption(spec: MusicSpec, fields: AudioFields): WrongField | undefined {
  if (fields.force_instrumental && spec.supports_force_instrumental !== true) return unsupported('force_instrumental');
  if (fields.lyrics_optimizer && spec.supports_lyrics_optimizer !== true) return unsupported('lyrics_optimizer');
  if (fields.loop && spec.supports_loop !== true) return unsupported('loop');
  if (fields.language_code !== undefined && spec.supports_language_code !== true) return unsupported('language_code');
  const { speed } = fields;
  if (speed === undefined) return undefined;
  if (spec.supports_speed !== true) return unsupported('speed');
  const slowest = Math.max(SLOWEST, spec.min_speed ?? SLOWEST);
  const fastest = Math.min(FASTEST, spec.max_speed ?? FASTEST);
  if (speed >= slowest && speed <= fastest) return undefined;
  return wrongField('speed', `Must be from ${slowest} to ${fastest} for this model`);
}

function wrongVoice(spec: MusicSpec, { voice }: AudioFields): WrongField | undefined {
  if (voice === undefined) return undefined;
  const voices = spec.voices ?? [];
  if (voices.length === 0 && spec.supports_custom_voice_id !== true) return unsupported('voice');
  if (voices.includes(voice)) return undefined;
  if (spec.supports_custom_voice_id === true && CUSTOM_VOICE_ID.test(voice)) return undefined;
  return { ...wrongField('voice', 'This model does not have this voice'), supportedVoices: voices };
}

function optionsOf(spec: MusicSpec, fields: AudioFields): Partial<AudioOrder> {
  const voice = fields.voice ?? spec.default_voice ?? spec.voices?.[0];
  const speed = spec.supports_speed === true ? (fields.speed ?? spec.default_speed ?? 1) : undefined;
  return {
    ...(fields.lyrics_prompt === undefined ? {} : { lyrics: fields.lyrics_prompt }),
    ...(spec.supports_force_instrumental ? { forceInstrumental: fields.force_instrumental ?? false } : {}),
    ...(spec.supports_lyrics_optimizer ? { lyricsOptimizer: fields.lyrics_optimizer ?? false } : {}),
    ...(spec.supports_loop ? { loop: fields.loop ?? false } : {}),
    ...(voice === undefined ? {} : { voice }),
    ...(fields.language_code === undefined ? {} : { languageCode: fields.language_code.toLowerCase() }),
    ...(speed === undefined ? {} : { speed }),
  };
}

/** Undefined when the length is missing, or beyond the last tier. */
export function priceAudio(model: MusicModel, usage: AudioUsage): Terms | undefined {
  const { pricing } = model.spec;
  const { durationSeconds } = usage;
  if (pricing.per_thousand_characters) {
    const line = {
      sku: `${model.id}-character`,
      unit: 'thousand characters',
      each: pricing.per_thousand_characters,
    };
    return termsOf({ ...line, thousandths: BigInt(usage.characters) });
  }
  if (pricing.per_second) {
    if (durationSeconds === undefined) return undefined;
    const line = { sku: `${model.id}-second`, unit: 'second', each: pricing.per_second };
    return termsOf({ ...line, thousandths: BigInt(durationSeconds) * 1_000n });
  }
  const each = pricing.generation ?? tierOf(pricing.durations, durationSeconds);
  return each && termsOf({ sku: `${model.id}-generation`, unit: 'generation', each, thousandths: 1_000n });
}

function tierOf(durations: MusicSpec['pricing']['durations'], seconds: number | undefined) {
  if (durations === undefined || seconds === undefined) return undefined;
  const ceiling = Object.keys(durations)
    .map(Number)
    .sort((left, right) => left - right)
    .find((most) => seconds <= most);
  return ceiling === undefined ? undefined : durations[String(ceiling)];
}

function noPrice(spec: MusicSpec): WrongField {
  const longest = Math.max(0, ...Object.keys(spec.pricing.durations ?? {}).map(Number));
  return wrongField('duration_seconds', `Must be at most ${longest} for this model`);
}
