/**
 * Several addresses of one service as one provider. Each request goes to one of the healthy ones, by weight; it goes to
 * another only before anything of an answer came, and only where the first one has certainly not begun to work for it:
 * what was generated twice would be paid twice.
 */
import { UpstreamFailure, type UpstreamFailureReason } from '../domain/text/upstreamFailure.ts';
import { AddressHealth, type AddressState } from './addressHealth.ts';
import type { TextCallContext, TextProvider } from './textProvider.ts';
import { WatchedEvents } from './watchedEvents.ts';

export type TextCallName = 'complete' | 'stream' | 'embed';

export interface TextOutcome {
  call: TextCallName;
  /** `stopped`: the caller did not wait for the end. */
  outcome: 'done' | 'stopped' | 'error' | UpstreamFailureReason;
  address: string;
  durationMs: number;
}

export interface UpstreamAddress {
  /** For operators: never with a key. */
  name: string;
  provider: TextProvider;
  weight: number;
}

export interface UpstreamsOptions {
  /** All of the same kind. */
  addresses: readonly UpstreamAddress[];
  /** One per attempt, when it is over. */
  observe?: ((outcome: TextOutcome) => void) | undefined;
  /** Milliseconds that only grow. */
  now?: () => number;
  random?: () => number;
}

export interface TextUpstreams extends TextProvider {
  health(): { name: string; state: AddressState }[];
}

const MOST_ATTEMPTS = 3;

export function createUpstreams(options: UpstreamsOptions): TextUpstreams {
  const {
    addresses,
    observe = () => undefined,
    now = () => performance.now(),
    random = Math.random,
  } = options;
  const entries = addresses.map((address) => ({ ...address, health: new AddressHealth(random) }));
  const desk: Desk = { entries, observe, now, random };
  const offers = (call: TextCallName) =>
    entries.length > 0 && entries.every(({ provider }) => provider[call]);
  return {
    ...(offers('complete') && {
      complete: (request, context) =>
        ask(desk, { call: 'complete', context }, ({ provider }) =>
          asked(provider.complete?.(request, context)),
        ),
    }),
    ...(offers('stream') && {
      stream: (request, context) =>
        ask(desk, { call: 'stream', context }, ({ provider }) => asked(provider.stream?.(request, context))),
    }),
    ...(offers('embed') && {
      embed: (request, context) =>
        ask(desk, { call: 'embed', context }, ({ provider }) => asked(provider.embed?.(request, context))),
    }),
    health: () => entries.map(({ name, health }) => ({ name, state: health.state(now()) })),
    close: async () => {
      await Promise.all(entries.map(({ provider }) => provider.close()));
    },
  };
}

interface Entry extends UpstreamAddress {
  health: AddressHealth;
}

interface Desk {
  entries: readonly Entry[];
  observe: (outcome: TextOutcome) => void;
  now: () => number;
  random: () => number;
}

interface Ask {
  call: TextCallName;
  context: TextCallContext;
}

function asked<T>(answer: Promise<T> | undefined): Promise<T> {
  if (answer === undefined) throw new Error('asked for what it does not offer');
  return answer;
}

async function ask<T extends object>(
  desk: Desk,
  { call, context }: Ask,
  send: (entry: Entry) => Promise<T>,
): Promise<T> {
  const tried = new Set<Entry>();
  let failure: UpstreamFailure | undefined;
  while (tried.size < MOST_ATTEMPTS && !(failure !== undefined && context.signal.aborted)) {
    const entry = pick(desk, tried);
    if (entry === undefined) break;
    tried.add(entry);
    try {
      return await attempt(desk, { call, context, entry }, () => send(entry));
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || !isSafeElsewhere(error)) throw error;
      failure = error;
    }
  }
  throw failure ?? nobody(desk);
}

interface Attempt extends Ask {
  entry: Entry;
}

async function attempt<T extends object>(
  desk: Desk,
  { call, context, entry }: Attempt,
  send: () => Promise<T>,
): Promise<T> {
  const startedAt = desk.now();
  entry.health.asked(startedAt);
  const over = (outcome: TextOutcome['outcome']) =>
    desk.observe({ call, outcome, address: entry.name, durationMs: desk.now() - startedAt });
  const failed = (error: unknown) => {
    if (!(error instanceof UpstreamFailure) || isStopped(context)) entry.health.abandoned();
    else entry.health.failed(error, desk.now());
    over(isStopped(context) ? 'stopped' : error instanceof UpstreamFailure ? error.reason : 'error');
  };
  const done = () => {
    entry.health.succeeded();
    over('done');
  };
  const stopped = () => {
    entry.health.abandoned();
    over('stopped');
  };
  try {
    const answer = await send();
    if (!('events' in answer)) {
      done();
      return answer;
    }
    entry.health.began();
    return watch(answer as T & Streamed, { done, stopped, failed });
  } catch (error) {
    failed(error);
    throw error;
  }
}

interface Streamed {
  events: AsyncIterable<never>;
}

function watch<T extends Streamed>(stream: T, ends: ConstructorParameters<typeof WatchedEvents>[1]): T {
  const events = new WatchedEvents(stream.events, ends);
  // The rest of it, which may become known only later, is read from the stream itself.
  return Object.create(stream, { events: { value: events, enumerable: true } });
}

/** The client went away; a deadline that passed is the service's silence. */
function isStopped({ signal }: TextCallContext): boolean {
  if (!signal.aborted) return false;
  return !(signal.reason instanceof Error && signal.reason.name === 'TimeoutError');
}

/** Nothing was accepted, or the service says that it made nothing. */
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

function pick({ entries, now, random }: Desk, tried: ReadonlySet<Entry>): Entry | undefined {
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

/** Every address rests: the soonest one says for how long. */
function nobody({ entries, now }: Desk): UpstreamFailure {
  const nowMs = now();
  const limited = entries.every(({ health }) => health.state(nowMs) === 'limited');
  const readyAt = Math.min(...entries.map(({ health }) => health.readyAt(nowMs)));
  return new UpstreamFailure({
    reason: limited ? 'rate_limited' : 'overloaded',
    detail: 'not sent: every address rests after failures or limits',
    retryAfterMs: Math.ceil(readyAt - nowMs),
  });
}
