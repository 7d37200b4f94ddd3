/** Whether an address of a service is worth asking: a circuit that opens when it fails again and again. */
import type { UpstreamFailure, UpstreamFailureReason } from '../../domain/upstreamFailure.ts';

export type AddressState = 'closed' | 'half-open' | 'open' | 'limited';

const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** A service that limits us without saying for how long. */
const LIMITED_MS = 1_000;
/** A trial that takes longer than this does not keep others from trying. */
const TRIAL_MS = 30_000;

/**
 * Whether the address, not the request, is at fault. What a request could provoke (`garbage`) is no reason to close an
 * address to everybody.
 */
const MEANING: Record<UpstreamFailureReason, 'fault' | 'answered' | 'nothing'> = {
  unreachable: 'fault',
  timeout: 'fault',
  failed: 'fault',
  overloaded: 'fault',
  lost: 'fault',
  credential: 'fault',
  garbage: 'nothing',
  rate_limited: 'nothing',
  no_model: 'answered',
  refused: 'answered',
  context_length: 'answered',
  content_policy: 'answered',
};

export class AddressHealth {
  private failures = 0;
  private pauseMs = FIRST_PAUSE_MS;
  private openUntil: number | undefined;
  private limitedUntil = 0;
  private trialUntil = 0;
  private readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  state(nowMs: number): AddressState {
    if (this.limitedUntil > nowMs) return 'limited';
    if (this.openUntil === undefined) return 'closed';
    return this.openUntil > nowMs || this.trialUntil > nowMs ? 'open' : 'half-open';
  }

  /** When it may be asked again. */
  readyAt(nowMs: number): number {
    return Math.max(nowMs, this.limitedUntil, this.openUntil ?? 0, this.openUntil === undefined ? 0 : this.trialUntil);
  }

  /** Of a half-open address one request at a time finds out. */
  asked(nowMs: number): void {
    if (this.openUntil !== undefined) this.trialUntil = nowMs + TRIAL_MS;
  }

  /** It has begun to answer: enough to end a trial, but a stream may still break. */
  began(): void {
    if (this.openUntil !== undefined) this.succeeded();
  }

  succeeded(): void {
    this.failures = 0;
    this.pauseMs = FIRST_PAUSE_MS;
    this.openUntil = undefined;
    this.trialUntil = 0;
  }

  /** Nothing is known of it: nobody waited for the answer any more. */
  abandoned(): void {
    this.trialUntil = 0;
  }

  failed({ reason, retryAfterMs }: Pick<UpstreamFailure, 'reason' | 'retryAfterMs'>, nowMs: number): void {
    const limited = reason === 'rate_limited' || (reason === 'overloaded' && retryAfterMs !== undefined);
    if (limited) this.limitedUntil = Math.max(this.limitedUntil, nowMs + (retryAfterMs ?? LIMITED_MS));
    if (MEANING[reason] === 'answered') this.succeeded();
    if (MEANING[reason] === 'nothing') this.abandoned();
    if (MEANING[reason] !== 'fault') return;
    this.failures += 1;
    if (this.openUntil !== undefined || this.failures >= FAILURES_TO_OPEN) this.open(nowMs);
  }

  /** Pauses that grow, and not the same on every process. */
  private open(nowMs: number): void {
    // Requests that were under way when it opened do not make the pause longer.
    if (this.openUntil !== undefined && this.openUntil > nowMs) return;
    this.openUntil = nowMs + this.pauseMs * (0.75 + this.random() / 2);
    this.pauseMs = Math.min(MAX_PAUSE_MS, this.pauseMs * 2);
    this.trialUntil = 0;
  }
}
