/** Orders of every kind from services with every behaviour, and how each may end. */
import { toneWav } from '../../bench/wav.ts';
import type { JobState } from '../../domain/jobs.ts';
import { clip, dataUrl, SQUARE } from '../acceptance/generation/media.ts';
import type { MediaServer } from '../acceptance/generation/mediaServer.ts';
import {
  EVERY_MUSIC_OPTION,
  LINKED,
  music,
  OF_PICTURES,
  PER_LETTER,
  PER_PIECE,
  PER_SECOND,
  UPSCALER,
  video,
} from '../acceptance/generation/models.ts';
import type { JobOrder } from '../harness/jobDriver.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import { killConfig, type ProviderName } from './models.ts';

/** Final state of a job. The client completes delivered jobs. */
export type End = Extract<JobState, 'deleted' | 'failed' | 'cancelled'>;

export interface Ware {
  order: JobOrder;
  /** Body of the quote request. */
  quote: object;
  ends: readonly End[];
  /** Time from acceptance to cancellation. */
  calledOffAfterMs?: number;
}

const REPLY_LOST = { latencyMs: 300, faults: [{ at: 'submit', kind: 'reply-lost', every: 1 }] };

const STUDIO: Record<string, { behaviour: object; model: object }> = {
  'quick-music': { behaviour: {}, model: music('quick-music', PER_PIECE) },
  'slow-music': {
    behaviour: { latencyMs: 1_200 },
    model: music('slow-music', PER_SECOND, { min_duration: 1, max_duration: 30 }),
  },
  'sound-effect': { behaviour: {}, model: music('sound-effect', PER_SECOND, EVERY_MUSIC_OPTION) },
  'read-aloud': { behaviour: { latencyMs: 500 }, model: music('read-aloud', PER_LETTER) },
  'live-music': {
    behaviour: { latencyMs: 1_500, synchronous: true },
    model: music('live-music', PER_PIECE),
  },
  'silent-music': { behaviour: REPLY_LOST, model: music('silent-music', PER_PIECE) },
  /** May have accepted the order, and cannot be asked. */
  'mute-music': { behaviour: { ...REPLY_LOST, lookup: false }, model: music('mute-music', PER_PIECE) },
  'prudish-music': { behaviour: { outcome: 'content_policy' }, model: music('prudish-music', PER_PIECE) },
  'garbled-music': { behaviour: { outcome: 'garbage-output' }, model: music('garbled-music', PER_PIECE) },
  'slow-video': { behaviour: { latencyMs: 1_500 }, model: video('slow-video') },
  'pictured-video': { behaviour: {}, model: video('pictured-video', OF_PICTURES) },
  'silent-video': { behaviour: REPLY_LOST, model: video('silent-video', OF_PICTURES) },
  'live-video': { behaviour: { latencyMs: 1_500, synchronous: true }, model: video('live-video') },
  'prudish-video': { behaviour: { outcome: 'content_policy' }, model: video('prudish-video') },
  'failing-video': { behaviour: { outcome: 'failed' }, model: video('failing-video') },
  'endless-video': { behaviour: { outcome: 'hang', latencyMs: 600_000 }, model: video('endless-video') },
  'linked-video': { behaviour: { latencyMs: 300 }, model: video('linked-video', LINKED) },
  'upscale-video': { behaviour: {}, model: video('upscale-video', UPSCALER) },
};

const PLENTY = 1_000_000_000;
const UNLIMITED = { requestsPerMinute: PLENTY, tokensPerMinute: PLENTY, failedPer30s: PLENTY };

/** `hosts` may serve media and receive webhooks. `accounts` have no rate limits. */
export function crowdConfig(hosts: readonly string[], accounts: readonly string[]): object {
  const { providers, models, jobs, ...rest } = killConfig();
  const behaviours = Object.entries(STUDIO).map(([id, { behaviour }]) => [id, behaviour]);
  return {
    ...rest,
    // Longer than the kills, during which a job may make no progress for minutes.
    jobs: { ...jobs, deadlineMinutes: 30 },
    providers: {
      ...providers,
      simulated: { kind: 'simulator', models: Object.fromEntries(behaviours) },
    },
    models: [...models, ...Object.values(STUDIO).map(({ model }) => model)],
    fetch: { allowPrivateHosts: hosts },
    limits: {
      overrides: Object.fromEntries(accounts.map((id) => [id, UNLIMITED])),
      perAddressPerMinute: 1_000_000,
    },
  };
}

const DELIVERED = ['deleted'] as const;
export const FAILED = ['failed'] as const;
const CANCELLED = ['cancelled'] as const;
/** Whichever end comes first. */
const EITHER = ['deleted', 'cancelled'] as const;
/** The shortest accepted value. */
const SOON = { headers: { 'Cancel-After': '5s' } };
const SECONDS = 2;
const SOURCE = toneWav(SECONDS);

export function voice(model: string, ends: readonly End[] = DELIVERED): Ware {
  return { order: { model, source: SOURCE }, quote: { duration_seconds: SECONDS }, ends };
}

const voiceOf = (name: ProviderName, ends?: readonly End[]) => voice(modelId(name), ends);

export function words(model: string, ends: readonly End[] = DELIVERED, length: object = {}): Ware {
  return {
    order: { kind: 'audio', model, fields: { prompt: 'A tram at dawn', ...length } },
    quote: length,
    ends,
  };
}

export function speech(model: string): Ware {
  const prompt = 'Mind the doors.';
  return {
    order: { kind: 'audio', model, fields: { prompt } },
    quote: { character_count: prompt.length },
    ends: DELIVERED,
  };
}

export function film(model: string, ends: readonly End[] = DELIVERED, more: object = {}): Ware {
  const frame = { duration: '1s', resolution: '256p' };
  return {
    order: { kind: 'video', model, fields: { prompt: 'A tram', ...frame, ...more } },
    quote: frame,
    ends,
  };
}

function upscaled(model: string, source: string): Ware {
  const fields = { video_url: source, upscale_factor: 2 };
  return { order: { kind: 'video', model, fields }, quote: fields, ends: DELIVERED };
}

function soon(ware: Ware): Ware {
  return { ...ware, order: { ...ware.order, ...SOON } };
}

/** All orders, with sources inline and from `media`. Common ones occur several times. */
export function waresWith(media: MediaServer): Ware[] {
  const second = clip({ seconds: 1 });
  const served = { image_url: media.serve('picture.png', SQUARE) };
  const inline = { image_url: dataUrl('image/png', SQUARE) };
  return [
    ...[voiceOf('instant'), voiceOf('slow'), voiceOf('silent'), voice('local-voice-changer')],
    ...[voiceOf('refusing', FAILED), { ...voiceOf('endless', CANCELLED), calledOffAfterMs: 1_000 }],
    ...[words('quick-music'), words('slow-music', DELIVERED, { duration_seconds: 2 })],
    ...[words('simulator-music', DELIVERED, { duration_seconds: 3 }), words('live-music')],
    ...[words('sound-effect', DELIVERED, { duration_seconds: 2 }), words('silent-music')],
    ...[speech('read-aloud'), speech('local-speech')],
    ...[words('prudish-music', FAILED), words('garbled-music', FAILED), soon(words('mute-music', CANCELLED))],
    ...[film('slow-video'), film('live-video'), film('linked-video'), film('linked-video')],
    ...[film('pictured-video', DELIVERED, inline), film('pictured-video', DELIVERED, served)],
    ...[film('silent-video', DELIVERED, inline), film('local-video', DELIVERED, served)],
    ...[upscaled('local-upscale', dataUrl('video/mp4', second))],
    ...[upscaled('upscale-video', media.serve('second.mp4', second))],
    ...[film('prudish-video', FAILED), film('failing-video', FAILED)],
    ...[{ ...film('endless-video', CANCELLED), calledOffAfterMs: 2_000 }],
    ...[{ ...film('slow-video', EITHER), calledOffAfterMs: 800 }, soon(film('slow-video', EITHER))],
    ...[{ ...voiceOf('slow', EITHER), calledOffAfterMs: 500 }],
  ];
}
