/**
 * Chooses a healthy address of a service for each call, by weight. A call moves to another address only before any part
 * of a reply arrives, and only if the first address did no work: double work would be paid twice. A server error counts
 * as no work.
 */
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { AddressHealth, type AddressState } from './addressHealth.ts';
import type { StreamEnds } from './watchedEvents.ts';

export interface CallOutcome<Name extends string> {
  call: Name;
  /** `stopped`: the caller left before the end. */
  outcome: 'done' | 'stopped' | 'error' | UpstreamFailureReason;
  address: string;
  durationMs: number;
}

export interface Address<Provider> {
  /** Shown to operators; never contains a key. */
  name: string;
  provider: Provider;
  weight: number;
}

export interface ChoiceOptions<Provider, Name extends string> {
  /** All serve the same models. */
  addresses: readonly Address<Provider>[];
  /** Called once per completed attempt. */
  observe?: ((outcome: CallOutcome<Name>) => void) | undefined;
  /** Monotonic milliseconds. */
  now?: (() => number) | undefined;
  random?: (() => number) | undefined;
}

interface AddressCall<Name extends string> {
  call: Name;
  signal: AbortSignal;
}

export interface AddressChoice<Provider, Name extends string> {
  /** `follow` wraps a streamed answer so that its end is recorded; undefined: the answer is no stream. */
  ask<T>(
    asking: AddressCall<Name>,
    send: (provider: Provider) => Promise<T>,
    follow?: (answer: T, ends: StreamEnds) => T | undefined,
  ): Promise<T>;
  health(): { name: string; state: AddressState }[];
}

const MAX_ATTEMPTS = 3;

export function createAddressChoice<Provider, Name extends string>(
  options: ChoiceOptions<Provider, Name>,
): AddressChoice<Provider, Name> {
  const { addresses, observe = () => undefined, now = defaultNow, random = Math.random } = options;
  const entries = addresses.map((address) => ({ ...address, health: new AddressHealth(random) }));
  const pool: AddressPool<Provider, Name> = { entries, observe, now, random };
  return {
    ask: (asking, send, follow = () => undefined) => ask(pool, asking, { send, follow }),
    health: () => entries.map(({ name, health }) => ({ name, state: health.state(now()) })),
  };
}

const defaultNow = () => performance.now();

interface AddressEntry<Provider> extends Address<Provider> {
  health: AddressHealth;
}

interface AddressPool<Provider, Name extends string> {
  entries: readonly AddressEntry<Provider>[];
  observe: (outcome: CallOutcome<Name>) => void;
  now: () => number;
  random: () => number;
}

interface CallSteps<Provider, T> {
  send: (provider: Provider) => Promise<T>;
  follow: (answer: T, ends: StreamEnds) => T | undefined;
}

async function ask<Provider, Name extends string, T>(
  pool: AddressPool<Provider, Name>,
  asking: AddressCall<Name>,
  work: CallSteps<Provider, T>,
): Promise<T> {
  const tried = new Set<AddressEntry<Provider>>();
  let failure: UpstreamFailure | undefined;
  while (tried.size < MAX_ATTEMPTS && !(failure !== undefined && asking.signal.aborted)) {
    const entry = pick(pool, tried);
    if (entry === undefined) break;
    tried.add(entry);
    try {
      return await attempt(pool, { call: asking.call, signal: asking.signal, entry }, work);
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || !isSafeElsewhere(error)) throw error;
      failure = error;
    }
  }
  throw failure ?? noAddress(pool);
}

interface AddressAttempt<Provider, Name extends string> extends AddressCall<Name> {
  entry: AddressEntry<Provider>;
}

class AttemptEnds<Provider, Name extends string> implements StreamEnds {
  readonly #pool: AddressPool<Provider, Name>;
  readonly #attempt: AddressAttempt<Provider, Name>;
  readonly #startedAt: number;

  constructor(pool: AddressPool<Provider, Name>, attempt: AddressAttempt<Provider, Name>) {
    this.#pool = pool;
    this.#attempt = attempt;
    this.#startedAt = pool.now();
    attempt.entry.health.asked(this.#startedAt);
  }

  failed(error: unknown): void {
    const { signal, entry } = this.#attempt;
    if (!(error instanceof UpstreamFailure) || isStopped(signal)) entry.health.abandoned();
    else entry.health.failed(error, this.#pool.now());
    this.#over(isStopped(signal) ? 'stopped' : error instanceof UpstreamFailure ? error.reason : 'error');
  }

  done(): void {
    this.#attempt.entry.health.succeeded();
    this.#over('done');
  }

  stopped(): void {
    this.#attempt.entry.health.abandoned();
    this.#over('stopped');
  }

  #over(outcome: CallOutcome<Name>['outcome']): void {
    const { call, entry } = this.#attempt;
    const durationMs = this.#pool.now() - this.#startedAt;
    this.#pool.observe({ call, outcome, address: entry.name, durationMs });
  }
}

async function attempt<Provider, Name extends string, T>(
  pool: AddressPool<Provider, Name>,
  trial: AddressAttempt<Provider, Name>,
  { send, follow }: CallSteps<Provider, T>,
): Promise<T> {
  const ends = new AttemptEnds(pool, trial);
  try {
    const answer = await send(trial.entry.provider);
    const followed = follow(answer, ends);
    if (followed === undefined) ends.done();
    else trial.entry.health.began();
    return followed ?? answer;
  } catch (error) {
    ends.failed(error);
    throw error;
  }
}

/** Whether the client left. A deadline counts as the service's fault. */
function isStopped(signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return !(signal.reason instanceof Error && signal.reason.name === 'TimeoutError');
}

/** Whether nothing was accepted, or the service reports that it did no work. */
function isSafeElsewhere({ reason, status }: UpstreamFailure): boolean {
  switch (reason) {
    case 'unreachable':
    case 'rate_limited':
    case 'overloaded':
    case 'credential':
    case 'no_model':
      return true;
    case 'failed':
      return status !== undefined && status >= 500;
    default:
      return false;
  }
}

function pick<Provider, Name extends string>(
  { entries, now, random }: AddressPool<Provider, Name>,
  tried: ReadonlySet<AddressEntry<Provider>>,
): AddressEntry<Provider> | undefined {
  const nowMs = now();
  const ready = entries.filter((entry) => {
    const state = entry.health.state(nowMs);
    return !tried.has(entry) && (state === 'closed' || state === 'half-open');
  });
  let left = random() * ready.reduce((sum, { weight }) => sum + weight, 0);
  for (const entry of ready) {
    left -= entry.weight;
    if (left < 0) return entry;
  }
  return ready.at(-1);
}

/** Failure while every address is paused, with the shortest wait. */
function noAddress<Provider, Name extends string>({ entries, now }: AddressPool<Provider, Name>): UpstreamFailure {
  const nowMs = now();
  const limited = entries.every(({ health }) => health.state(nowMs) === 'limited');
  const readyAt = Math.min(...entries.map(({ health }) => health.readyAt(nowMs)));
  return new UpstreamFailure({
    reason: limited ? 'rate_limited' : 'overloaded',
    detail: 'not sent: every address rests after failures or limits',
    retryAfterMs: Math.ceil(readyAt - nowMs),
  });
}
