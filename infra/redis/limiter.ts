/**
 * Counts calls against their limits: all windows of a call in one round trip to Redis, shared by every process. While
 * Redis does not answer, each process uses windows of its own; money is unaffected.
 */
import type { Redis, Result } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { LimitType } from '../../domain/limits/limits.ts';
import { SLOTS, SlidingWindow, slotMsOf } from '../../domain/limits/slidingWindow.ts';
import { limiterDecisions } from '../telemetry/counters.ts';
import { keepLabelled } from '../telemetry/labelled.ts';
import { inSpan } from '../telemetry/spans.ts';
import { createCommandBatcher, type RedisCall } from './commandBatcher.ts';
import { ADMIT, CORRECT } from './limitScripts.ts';
import { withLocalFallback } from './withLocalFallback.ts';

declare module 'ioredis' {
  interface RedisCommander<Context> {
    fareboxAdmit(...given: (string | number)[]): Result<number[], Context>;
    fareboxCorrect(keys: number, ...given: (string | number)[]): Result<number, Context>;
  }
}

export interface Counter {
  type: LimitType;
  /** Counted subject within the account: a model, or a key and a model. */
  subject: string;
  limit: number;
  /** 0: the window is only checked, and refuses the call when the limit is reached. */
  cost: number;
  windowMs: number;
}

export interface CounterState {
  /** Count of the window, including this call. */
  total: number;
  /** Unix ms at which the oldest slot leaves the window; now for an empty one. */
  resetsAt: number;
}

export interface Admission {
  /** Undefined: admitted, and counted in all windows. Otherwise nothing was counted. */
  refusedBy: Counter | undefined;
  /** Unix ms by the clock of the counter. */
  at: number;
  /** In the order of the counters. */
  states: CounterState[];
}

/** Fields of a refusal in the rate limit log, beside time and cause. */
export interface RefusedCall {
  apiKeyId: string;
  modelId: string;
  rateLimitTier: string;
}

interface Refusal extends RefusedCall {
  rateLimitType: LimitType;
  /** Unix ms. */
  at: number;
}

/** Immutable: equal calls share one, and with it its Redis command (bench `front`). */
export interface LimitedCall {
  readonly accountId: string;
  readonly counters: readonly Counter[];
  /** Without it refusals are not logged. */
  readonly about?: RefusedCall;
}

interface Change {
  count: number;
  /** Unix ms; default: now. */
  at?: number;
}

export interface Limiter {
  /** `tokens`: cost of this call in a token window, in place of the counter's cost. */
  admit(call: LimitedCall, tokens?: number): Promise<Admission>;
  /** Adds to, or subtracts from, the count at that time. */
  correct(accountId: string, counter: Counter, change: Change): Promise<void>;
  /** Logs a refusal by a limit other than a window. Never throws. */
  logRefusal(accountId: string, refusal: Omit<Refusal, 'at'>): Promise<void>;
  /** Last refusals of the account, newest first, at most 50. */
  refusals(accountId: string): Promise<Refusal[]>;
}

const MAX_LOCAL_WINDOWS = 50_000;
const MAX_REFUSALS = 50;
const LOG_MS = 30 * 86_400_000;
const decided = keepLabelled(limiterDecisions);
const LIMITS = { name: 'limits', kind: 'client' } as const;

export function createLimiter(redis: Redis, onFallback: (error: unknown) => void = () => undefined): Limiter {
  redis.defineCommand('fareboxAdmit', { lua: ADMIT });
  redis.defineCommand('fareboxCorrect', { lua: CORRECT });
  const local = createLocalLimiter();
  const orLocally = withLocalFallback(onFallback);
  const together = batchCommands(redis);

  return {
    admit: (call, tokens) =>
      inSpan(LIMITS, async (note) => {
        let counted = 'redis';
        const admission = await orLocally(
          () => together.ask(call, tokens),
          () => {
            counted = 'process';
            return local.admit(call, tokens);
          },
        );
        const limit = admission.refusedBy?.type ?? 'none';
        const outcome = limit === 'none' ? 'admitted' : 'refused';
        decided(outcome, limit, counted).inc();
        note({ 'farebox.outcome': outcome, 'farebox.limit': limit });
        return admission;
      }),
    correct: (accountId, counter, change) =>
      orLocally(
        () => together.correct(keyOf(accountId, counter), counter.windowMs, change),
        () => local.correct(accountId, counter, change),
      ),
    logRefusal: (accountId, refusal) =>
      orLocally(
        async () => {
          const log = logKeyOf(accountId);
          const written = redis.pipeline().lpush(log, entryOf(refusal, Date.now()));
          await written
            .ltrim(log, 0, MAX_REFUSALS - 1)
            .pexpire(log, LOG_MS)
            .exec();
        },
        () => local.logRefusal(accountId, refusal),
      ),
    refusals: (accountId) =>
      orLocally(
        async () => (await redis.lrange(logKeyOf(accountId), 0, MAX_REFUSALS - 1)).map(parseRefusal),
        () => local.refusals(accountId),
      ),
  };
}

/** The braces around the account put all windows of a call into one slot of a Redis cluster. */
function keyOf(accountId: string, { type, subject }: Counter): string {
  return `farebox:{${accountId}}:${type}:${subject}`;
}

function logKeyOf(accountId: string): string {
  return `farebox:{${accountId}}:refusals`;
}

/** Redis command of a call: the windows, the list of refusals, and per window its limit, cost and length. */
function argumentsOf({ accountId, counters, about }: LimitedCall): string[] {
  const keys = [...counters.map((counter) => keyOf(accountId, counter)), logKeyOf(accountId)];
  const figures = counters.flatMap(({ limit, cost, windowMs }) => [limit, cost, windowMs].map(String));
  const entry = about && `%s %t ${JSON.stringify(about)} ${counters.map(({ type }) => type).join(' ')}`;
  return [...keys, ...figures, entry ?? ''];
}

const argumentsKnown = new WeakMap<LimitedCall, string[]>();

/** Number of keys, keys and arguments of a command. */
function admitArguments(call: LimitedCall, tokens: number | undefined, calls: number): (string | number)[] {
  const { counters } = call;
  let known = argumentsKnown.get(call);
  if (known === undefined) {
    known = argumentsOf(call);
    argumentsKnown.set(call, known);
  }
  const command: (string | number)[] = [counters.length + 1, ...known, calls];
  const tokenWindow = tokens === undefined ? -1 : counters.findIndex(isOfTokens);
  if (tokenWindow !== -1) command[counters.length + 3 + tokenWindow * 3] = String(tokens);
  return command;
}

/** Most equal calls in one command: Redis does nothing else while it counts them. */
const MAX_CALLS = 256;

interface AdmissionWaiter<T> {
  resolve(answer: T): void;
  reject(error: unknown): void;
}

class AdmitCommand implements RedisCall {
  readonly waiting: AdmissionWaiter<Admission>[] = [];
  readonly #call: LimitedCall;
  readonly #tokens: number | undefined;

  constructor(call: LimitedCall, tokens: number | undefined) {
    this.#call = call;
    this.#tokens = tokens;
  }

  async send(redis: Redis): Promise<void> {
    const answer = await redis.fareboxAdmit(...admitArguments(this.#call, this.#tokens, this.waiting.length));
    for (const [index, each] of this.waiting.entries()) each.resolve(admissionOf(this.#call, answer, index));
  }

  fail(error: unknown): void {
    for (const each of this.waiting) each.reject(error);
  }
}

/** Correction of one slot of a window. */
class CorrectCommand implements RedisCall {
  readonly waiting: AdmissionWaiter<void>[] = [];
  count = 0;
  readonly #key: string;
  readonly #at: number;
  readonly #windowMs: number;

  constructor(key: string, at: number, windowMs: number) {
    this.#key = key;
    this.#at = at;
    this.#windowMs = windowMs;
  }

  async send(redis: Redis): Promise<void> {
    await redis.fareboxCorrect(1, this.#key, this.count, this.#at, this.#windowMs);
    for (const each of this.waiting) each.resolve();
  }

  fail(error: unknown): void {
    for (const each of this.waiting) each.reject(error);
  }
}

/** Commands to Redis; waiting ones of the same kind are merged. */
function batchCommands(redis: Redis) {
  const asks = new Map<LimitedCall, AdmitCommand>();
  const corrections = new Map<string, CorrectCommand>();
  const batcher = createCommandBatcher(redis, () => {
    asks.clear();
    corrections.clear();
  });

  return {
    ask(call: LimitedCall, tokens: number | undefined): Promise<Admission> {
      return new Promise((resolve, reject) => {
        const each = { resolve, reject };
        const same = tokens === undefined ? asks.get(call) : undefined;
        if (same && same.waiting.length < MAX_CALLS) return void same.waiting.push(each);
        const command = new AdmitCommand(call, tokens);
        command.waiting.push(each);
        if (batcher.busy && tokens === undefined) asks.set(call, command);
        batcher.add(command);
      });
    },
    correct(key: string, windowMs: number, { count, at = 0 }: Change): Promise<void> {
      return new Promise((resolve, reject) => {
        const slot = `${key} ${Math.floor(at / slotMsOf(windowMs))}`;
        const same = corrections.get(slot);
        const command = same ?? new CorrectCommand(key, at, windowMs);
        command.count += count;
        command.waiting.push({ resolve, reject });
        if (same) return;
        if (batcher.busy) corrections.set(slot, command);
        batcher.add(command);
      });
    },
  };
}

/** Result of the call with this index in the command. */
function admissionOf({ counters }: LimitedCall, answer: number[], index: number): Admission {
  const from = 1 + index * (1 + counters.length * 2);
  const [at = Date.now()] = answer;
  const states = counters.map(({ windowMs }, window) => {
    const total = answer[from + 1 + window * 2] ?? 0;
    const first = answer[from + 2 + window * 2] ?? 0;
    return { total, resetsAt: total === 0 ? at : (first + SLOTS + 1) * slotMsOf(windowMs) };
  });
  return { refusedBy: counters[(answer[from] ?? 0) - 1], at, states };
}

function isOfTokens({ type }: Counter): boolean {
  return type === 'TPM';
}

/** Entry in the form that ADMIT writes: number of the refusing window, time, refused call, types of the windows. */
function entryOf({ rateLimitType, ...refused }: Omit<Refusal, 'at'>, at: number): string {
  return `1 ${at} ${JSON.stringify(refused)} ${rateLimitType}`;
}

const ENTRY = /^(\d+) (\d+) (\{.*\}) ([A-Z_ ]+)$/;

function parseRefusal(entry: string): Refusal {
  const [, number = '1', at = '0', about = '{}', types = ''] = ENTRY.exec(entry) ?? [];
  const rateLimitType = types.split(' ')[Number(number) - 1] as LimitType;
  return { ...(JSON.parse(about) as RefusedCall), rateLimitType, at: Number(at) };
}

/** Limiter in the memory of this process, used without Redis. */
export function createLocalLimiter(): Limiter {
  const windows = new LRUCache<string, SlidingWindow>({ max: MAX_LOCAL_WINDOWS });
  const refused = new LRUCache<string, Refusal[]>({ max: 10_000 });

  function windowOf(key: string): SlidingWindow {
    const known = windows.get(key);
    if (known) return known;
    const made = new SlidingWindow();
    windows.set(key, made);
    return made;
  }

  function note(accountId: string, refusal: Refusal): void {
    refused.set(accountId, [refusal, ...(refused.get(accountId) ?? [])].slice(0, MAX_REFUSALS));
  }

  return {
    async admit({ accountId, counters, about }, tokens) {
      const nowMs = Date.now();
      const found = counters.map((asked) => {
        const counter = tokens !== undefined && isOfTokens(asked) ? { ...asked, cost: tokens } : asked;
        return { counter, window: windowOf(keyOf(accountId, counter)) };
      });
      const refusing = found.find(({ counter, window }) => !fits(counter, window.total(nowMs, counter.windowMs)));
      if (refusing) {
        if (about) note(accountId, { ...about, rateLimitType: refusing.counter.type, at: nowMs });
      } else {
        for (const { counter, window } of found) {
          const { cost, windowMs } = counter;
          if (cost > 0) window.add(cost, { atMs: nowMs, nowMs, windowMs });
        }
      }
      const states = found.map(({ counter: { windowMs }, window }) => ({
        total: window.total(nowMs, windowMs),
        resetsAt: window.resetsAt(nowMs, windowMs),
      }));
      return { refusedBy: refusing && counters[found.indexOf(refusing)], at: nowMs, states };
    },
    async correct(accountId, counter, { count, at }) {
      const nowMs = Date.now();
      windowOf(keyOf(accountId, counter)).add(count, {
        atMs: at ?? nowMs,
        nowMs,
        windowMs: counter.windowMs,
      });
    },
    logRefusal: async (accountId, refusal) => note(accountId, { ...refusal, at: Date.now() }),
    refusals: async (accountId) => refused.get(accountId) ?? [],
  };
}

/** A call above the whole limit is admitted into an empty window; otherwise it never could be. */
function fits({ limit, cost }: Counter, total: number): boolean {
  if (cost === 0) return total < limit;
  return total + cost <= limit || (total === 0 && limit > 0);
}
