/** Orders of every kind for services that keep jobs in each state for seconds. */
import { music, PER_PIECE, video } from '../acceptance/generation/models.ts';
import { modelId, simulatedVoice, simulator } from '../harness/simulatedVoices.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import type { Errand } from './crowd.ts';
import type { Payer } from './payer.ts';
import { FAILED, film, speech, voice, type Ware, words } from './wares.ts';

/** Simulators count how often each job was submitted. */
const SERVICES = {
  /** Runs for a while and is polled several times. */
  voice: simulator({ latencyMs: 4_000 }),
  film: simulator({ latencyMs: 4_000 }),
  /** Returns the result at once. */
  instant: simulator({}),
  reel: simulator({}),
  /** Runs few jobs at once. The others wait, charged and not yet submitted. */
  narrow: simulator({ latencyMs: 1_500, limits: { concurrent: longRun(2, 8) } }),
  /** Responds only when the work is done. */
  synchronous: simulator({ latencyMs: 3_000, synchronous: true }),
  /** Accepts the order and refuses it at the end. */
  refusing: simulator({ latencyMs: 2_000, outcome: 'content_policy' }),
};
type Service = keyof typeof SERVICES;

const voiceOf = (service: Service) => simulatedVoice(service, 0.1);
const musicOf = (service: Service) => ({ ...music(modelId(service), PER_PIECE), provider: service });
const videoOf = (service: Service) => ({ ...video(modelId(service)), provider: service });

export const MIXED_CONFIG = {
  providers: SERVICES,
  models: [
    ...[voiceOf('voice'), voiceOf('instant'), voiceOf('refusing')],
    ...[musicOf('narrow'), musicOf('synchronous'), videoOf('film'), videoOf('reel')],
  ],
  media: { retentionHours: 1 },
  jobs: { deadlineMinutes: 5, pollFirstMs: 150, pollLongestMs: 500 },
};

const narrow = words(modelId('narrow'));

/** Contains `narrow` several times, so that jobs wait. */
export const MIXED_WARES: readonly Ware[] = [
  ...[voice(modelId('voice')), narrow, voice(modelId('instant')), film(modelId('film')), narrow],
  ...[words(modelId('synchronous')), film(modelId('reel')), voice('local-voice-changer')],
  ...[voice(modelId('refusing'), FAILED), narrow, speech('local-speech')],
];

/** `serial` selects the payer and the order. */
export function mixedErrand(payers: readonly Payer[], serial: number): Errand {
  const payer = payers[serial % payers.length];
  const ware = MIXED_WARES[serial % MIXED_WARES.length];
  if (!payer || !ware) throw new Error('nobody orders, or nothing');
  const idempotencyKey = `order-${serial}`;
  return { payer, ware, idempotencyKey, startAfterMs: 0, repeats: false, deleteOnDelivery: false };
}
