import type { ServiceCall } from '../../infra/http/serviceHttp.ts';
import type { Outcome } from '../shared/provider.ts';
import { toVoice, type Voice } from './voices.ts';

/** One call whose reply is the audio. */
export interface PlannedCall {
  call: Omit<ServiceCall, 'signal'>;
  /** Upper limit for any output of this order. */
  maxBytes: number;
  /** The voice id is not a default one: the client must ensure that it may be used. */
  custom: boolean;
}

/** The call for an order, or a refusal before anything is sent. */
export type Plan = PlannedCall | RefusedOutcome;
export type RefusedOutcome = Extract<Outcome, { status: 'refused' }>;

/** Available on every plan and operation. The constant bit rate lets the length bound the size. */
export const OUTPUT_FORMAT = 'mp3_44100_128';

/** Four times the rate of the output format, plus `MAX_BYTES_BASE`. */
const MAX_BYTES_PER_SECOND = 64_000;
const MAX_BYTES_BASE = 2_000_000;
/** Limit for orders without a length: more than three hours of the output format. */
const MAX_BYTES_WITHOUT_LENGTH = 200_000_000;

export function maxOutputBytes(seconds: number | undefined): number {
  if (seconds === undefined) return MAX_BYTES_WITHOUT_LENGTH;
  return Math.min(MAX_BYTES_BASE + Math.ceil(seconds) * MAX_BYTES_PER_SECOND, MAX_BYTES_WITHOUT_LENGTH);
}

const VOICE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$/;

/** Returns undefined for an id that is unsafe in a URL path. */
export function pathVoice(nameOrId: string): Voice | undefined {
  const voice = toVoice(nameOrId);
  return VOICE_ID.test(voice.id) ? voice : undefined;
}

export function refuseOrder(message: string): RefusedOutcome {
  return { status: 'refused', reason: 'refused', message };
}
