import type { ServiceCall } from '../../infra/http/serviceHttp.ts';
import type { Outcome } from '../shared/provider.ts';
import { toVoice, type Voice } from './voices.ts';

/** One call of the service whose answer is the audio. */
export interface PlannedCall {
  call: Omit<ServiceCall, 'signal'>;
  /** What no answer to this order can exceed. */
  maxBytes: number;
  /** The client named a voice by an id of its own: whether it may be used is then the client's matter. */
  custom: boolean;
}

/** An order becomes a call, or is refused before anything is sent. */
export type Plan = PlannedCall | RefusedOutcome;
export type RefusedOutcome = Extract<Outcome, { status: 'refused' }>;

/** On every plan of the service and of every operation; constant bit rate, so that a length bounds a size. */
export const OUTPUT_FORMAT = 'mp3_44100_128';

/** Four times what the output format needs, and something for a short one. */
const MAX_BYTES_PER_SECOND = 64_000;
const MAX_BYTES_BASE = 2_000_000;
/** Where the order says no length: more than three hours of the output format. */
const MAX_BYTES_WITHOUT_LENGTH = 200_000_000;

export function maxOutputBytes(seconds: number | undefined): number {
  if (seconds === undefined) return MAX_BYTES_WITHOUT_LENGTH;
  return Math.min(MAX_BYTES_BASE + Math.ceil(seconds) * MAX_BYTES_PER_SECOND, MAX_BYTES_WITHOUT_LENGTH);
}

const VOICE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$/;

/** The id becomes a part of a path: undefined for what could mean anything else there. */
export function pathVoice(nameOrId: string): Voice | undefined {
  const voice = toVoice(nameOrId);
  return VOICE_ID.test(voice.id) ? voice : undefined;
}

export function refuseOrder(message: string): RefusedOutcome {
  return { status: 'refused', reason: 'refused', message };
}
