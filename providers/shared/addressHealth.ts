/** Health of an address: a circuit breaker that opens after repeated failures. */
import type { UpstreamFailure, UpstreamFailureReason } from '../../domain/upstreamFailure.ts';

export type AddressState = 'closed' | 'half-open' | 'open' | 'limited';

const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** Pause after a rate limit without a stated wait. */
const LIMITED_MS = 1_000;
/** Time after which an unfinished probe no longer blocks another. */
const TRIAL_MS = 30_000;

/**
 * Whether the address, not the request, is at fault. Failures that a request can provoke (`garbage`) must not close an
 * address to others.
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

  /** Time from which the address may be used again. */
  readyAt(nowMs: number): number {
    return Math.max(nowMs, this.limitedUntil, this.openUntil ?? 0, this.openUntil === undefined ? 0 : this.trialUntil);
  }

  /** A half-open address is probed by one request at a time. */
  asked(nowMs: number): void {
    if (this.openUntil !== undefined) this.trialUntil = nowMs + TRIAL_MS;
  }

  /** The reply has started: enough to end a probe, but a stream may still break. */
  began(): void {
    if (this.openUntil !== undefined) this.succeeded();
  }

  succeeded(): void {
    this.failures = 0;
    this.pauseMs = FIRST_PAUSE_MS;
    this.openUntil = undefined;
    this.trialUntil = 0;
  }

  /** The outcome is unknown, because the caller left. */
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

  /** Opens the circuit for a growing pause, randomised between processes. */
  private open(nowMs: number): void {
    // Requests that were running when it opened do not extend the pause.
    if (this.openUntil !== undefined && this.openUntil > nowMs) return;
    this.openUntil = nowMs + this.pauseMs * (0.75 + this.random() / 2);
    this.pauseMs = Math.min(MAX_PAUSE_MS, this.pauseMs * 2);
    this.trialUntil = 0;
  }
}
