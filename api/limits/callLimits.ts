/**
 * Limits of one call: whom it counts for, whether it is admitted, which headers report it, and what it adds to the
 * error budgets at its end (LIMIT-1 to LIMIT-12).
 */
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../domain/caller.ts';
import type { Model, ModelType } from '../../domain/catalogue/model.ts';
import { modelNamed } from '../../domain/catalogue/resolveModel.ts';
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import {
  BUDGET_MS,
  callsInFlightOf,
  FAILED_PER_30S,
  type LimitOverride,
  type LimitType,
  MINUTE_MS,
  perMinuteOf,
  type RequestGroup,
  refusalOf,
  requestsOf,
  type Tier,
  UNSUPPORTED_PER_30S,
} from '../../domain/limits/limits.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Admission, Counter, CounterState, LimitedCall, Limiter, RefusedCall } from '../../infra/redis/limiter.ts';
import { type CallsInFlight, createCallsInFlight } from './callsInFlight.ts';
import {
  budgetHeaders,
  type LimitHeaders,
  NO_LIMIT_HEADERS,
  type ReportedWindows,
  stateOf,
  windowHeaders,
  withoutOne,
} from './limitHeaders.ts';

export interface LimitSettings {
  limiter: Limiter;
  callsInFlight: CallsInFlight;
  tierOf(accountId: string): Tier;
  overrideOf(accountId: string): LimitOverride;
  /** Limits apply to a model under all its names. */
  modelOf(name: string, type: ModelType | undefined): Model | undefined;
  kept: KeptCounters;
}

/** Counters that were put together before. Redis is asked in one go for calls that share the same object. */
interface KeptCounters {
  ofCallers: WeakMap<Caller, Map<string, CallCounters>>;
  joined: WeakMap<LimitedCall, WeakMap<LimitedCall, LimitedCall>>;
  uncounted: WeakMap<LimitedCall, LimitedCall>;
  /** Counters of JSON-RPC calls, by account and limits. */
  rpc: LRUCache<string, LimitedCall>;
}

const MAX_RPC_KEPT = 10_000;

export function createLimits(config: Config, limiter: Limiter): LimitSettings {
  const partners = new Set(config.limits.partnerAccounts);
  const staff = new Set(config.limits.staffAccounts);
  const overrides = new Map(Object.entries(config.limits.overrides));
  return {
    limiter,
    callsInFlight: createCallsInFlight(),
    tierOf: (accountId) => (staff.has(accountId) ? 'staff' : partners.has(accountId) ? 'partner' : 'paid'),
    overrideOf: (accountId) => overrides.get(accountId) ?? {},
    modelOf: (name, type) =>
      type === undefined
        ? config.modelCatalogue.byId.get(name)
        : modelNamed(config.modelCatalogue, { name, type, now: new Date().toISOString() }),
    kept: {
      ...{ ofCallers: new WeakMap(), joined: new WeakMap(), uncounted: new WeakMap() },
      rpc: new LRUCache({ max: MAX_RPC_KEPT }),
    },
  };
}

/** Subject of a call, from its body. */
export interface Subject {
  /** The route's pattern below the base path. */
  path: string;
  /** `model` of the body, when it is a string. */
  model: string | undefined;
  /** Type of model that the route serves. */
  modelType?: ModelType | undefined;
  /** `own`: the route has windows of its own. Default: those of the model, else those of all routes without a model. */
  requestLimit?: 'jobs' | 'own' | undefined;
  /** Windows of the route, which are reported and do not count the call. */
  ownWindows?: LimitedCall | undefined;
  /** Estimated tokens of the call, for models with a token limit. */
  estimatedTokens?: number | undefined;
}

export interface CallLimits {
  /** Throws FareboxError `rate_limited`. */
  admit(subject: Subject): Promise<void>;
  /**
   * The same together with windows of the route, all or none, in one Redis command. The result is about those windows
   * alone; throws FareboxError `rate_limited` only for the others.
   */
  admitWith(subject: Subject, own: LimitedCall): Promise<Admission>;
  /** Counts the call against the limits of another model that is to answer. Throws FareboxError `rate_limited`. */
  admitModel(modelId: string): Promise<void>;
  /** False: neither admitted nor refused yet. */
  readonly isCounted: boolean;
  /** Reads the windows of a call that ends before it was counted, for its headers. */
  report(subject: Subject): Promise<void>;
  /** Headers of every answer (LIMIT-10); of a refusal by a budget those of that budget. */
  readonly headers: LimitHeaders;
  /** Rest of the budget of failures. */
  readonly budgetHeaders: LimitHeaders;
  /** Actual number of tokens; 0 for a call that produced nothing. A later value replaces an earlier one. */
  noteTokens(used: number): Promise<void>;
  /** Throws FareboxError `rate_limited` for one concurrent call too many. Returns a function to call at the end. */
  enter(): () => void;
  /** Logs a refusal that no window logged. */
  noteRefusal(type: LimitType): void;
  /** Reports the end of the call; failures fill the error budget. */
  ended(status: number, code: ErrorCode | undefined): Promise<void> | undefined;
}

/** Counters of the calls of one key to one route and model; created once while the key is cached (bench `front`). */
interface CallCounters extends LimitedCall {
  failed: Counter;
  unsupported: Counter | undefined;
  requests: Counter | undefined;
  tokens: Counter | undefined;
  /** Requests of calls without a limited model. */
  shared: SharedWindow | undefined;
  reported: ReportedWindows;
}

interface SharedWindow {
  group: RequestGroup;
  counter: Counter;
}

/** Clients choose model names: beyond this number per key, counters are created anew each time. */
const MAX_KEPT = 200;
const MAX_KEPT_LENGTH = 200;

function countedOf(limits: LimitSettings, caller: Caller, subject: Subject): CallCounters {
  const { ofCallers } = limits.kept;
  let known = ofCallers.get(caller);
  if (known === undefined) {
    known = new Map();
    ofCallers.set(caller, known);
  }
  const name = subject.model === undefined ? subject.path : `${subject.path} ${subject.model}`;
  const before = known.get(name);
  if (before) return before;
  const counted = countersOf(limits, caller, subject);
  if (known.size < MAX_KEPT && name.length <= MAX_KEPT_LENGTH) known.set(name, counted);
  return counted;
}

/** The same object for the same two: equal calls that wait for Redis are batched by it (benches `front` and `rpc`). */
function joined({ kept }: LimitSettings, counted: LimitedCall, own: LimitedCall): LimitedCall {
  const known = kept.joined.get(counted) ?? new WeakMap<LimitedCall, LimitedCall>();
  kept.joined.set(counted, known);
  const before = known.get(own);
  if (before) return before;
  const { accountId, about } = counted;
  const made = { accountId, counters: [...counted.counters, ...own.counters], ...(about && { about }) };
  known.set(own, made);
  return made;
}

/** The same windows, without a limit and a count. Equal ones are the same object, as those of `joined`. */
function uncounted({ kept }: LimitSettings, call: LimitedCall): LimitedCall {
  const before = kept.uncounted.get(call);
  if (before) return before;
  const counters = call.counters.map((counter) => ({ ...counter, limit: Number.MAX_SAFE_INTEGER, cost: 0 }));
  const made = { accountId: call.accountId, counters };
  kept.uncounted.set(call, made);
  return made;
}

/** Routes with a separate budget for unsupported features (LIMIT-7). */
const FEATURE_ROUTES = new Set(['/chat/completions', '/responses']);

export function openCall(limits: LimitSettings, caller: Caller): CallLimits {
  return new LimitedCallState(limits, caller);
}

class LimitedCallState implements CallLimits {
  headers: LimitHeaders = NO_LIMIT_HEADERS;
  budgetHeaders: LimitHeaders = NO_LIMIT_HEADERS;
  readonly #limits: LimitSettings;
  readonly #caller: Caller;
  #asked: Subject | undefined = undefined;
  /** Subject of the failures. */
  #counted: CallCounters | undefined = undefined;
  /** Subject of the requests and tokens. */
  #answering: CallCounters | undefined = undefined;
  #admission: Admission | undefined = undefined;
  #estimatedTokens: number | undefined = undefined;
  /** Token count that replaces the estimate in the window. */
  #notedTokens: number | undefined = undefined;

  constructor(limits: LimitSettings, caller: Caller) {
    this.#limits = limits;
    this.#caller = caller;
  }

  get isCounted(): boolean {
    return this.#counted !== undefined;
  }

  async admit(subject: Subject): Promise<void> {
    const of = this.#open(subject);
    const { ownWindows: own } = subject;
    const asked = own ? joined(this.#limits, of, uncounted(this.#limits, own)) : of;
    const admitted = await this.#limits.limiter.admit(asked, this.#estimatedTokens);
    this.#take(admitted, of);
    if (own) this.#reportOwn(admitted, of, own);
  }

  async report(subject: Subject): Promise<void> {
    const of = this.#open(subject);
    const { ownWindows: own } = subject;
    const read = uncounted(this.#limits, own ? joined(this.#limits, of, own) : of);
    const admitted = await this.#limits.limiter.admit(read);
    this.#reportWindows(admitted, of);
    if (own) this.#reportOwn(admitted, of, own);
  }

  async admitWith(subject: Subject, own: LimitedCall): Promise<Admission> {
    const of = this.#open(subject);
    const admitted = await this.#limits.limiter.admit(joined(this.#limits, of, own), this.#estimatedTokens);
    const { refusedBy } = admitted;
    const isOwn = refusedBy !== undefined && own.counters.includes(refusedBy);
    this.#take(isOwn ? { ...admitted, refusedBy: undefined } : admitted, of);
    return this.#reportOwn(admitted, of, own);
  }

  async admitModel(modelId: string): Promise<void> {
    if (!this.#asked || this.#answering?.about?.modelId === modelId) return;
    const next = countedOf(this.#limits, this.#caller, { ...this.#asked, model: modelId });
    const admitted = await this.#limits.limiter.admit(next, this.#estimatedTokens);
    const { refusedBy } = admitted;
    // A call that named no limited model is about this one.
    if (!refusedBy || !this.#answering?.requests) this.headers = windowHeaders(next.counters, admitted, next.reported);
    if (refusedBy) throw refusal(refusedBy, stateOf(next.counters, admitted, refusedBy), admitted);
    await this.noteTokens(0);
    [this.#answering, this.#admission] = [next, admitted];
    this.#notedTokens = undefined;
  }

  async noteTokens(used: number): Promise<void> {
    const tokens = this.#answering?.tokens;
    if (!tokens || !this.#admission || this.#admission.refusedBy) return;
    const before = this.#notedTokens ?? this.#estimatedTokens ?? tokens.cost;
    this.#notedTokens = Math.round(used);
    const change = { count: this.#notedTokens - before, at: this.#admission.at };
    await this.#limits.limiter.correct(this.#caller.accountId, tokens, change);
  }

  enter(): () => void {
    const { accountId, wallet } = this.#caller;
    const most = callsInFlightOf(this.#limits.overrideOf(accountId), wallet !== undefined);
    const leave = this.#limits.callsInFlight.enter(accountId, most);
    if (leave) return leave;
    throw new FareboxError({
      ...{ code: 'rate_limited', limitType: 'CALLS_IN_FLIGHT', retryAfterSeconds: 1 },
      message: refusalOf('CALLS_IN_FLIGHT', most),
    });
  }

  noteRefusal(type: LimitType): void {
    const { accountId } = this.#caller;
    const about = this.#counted?.about ?? aboutOf(this.#limits, this.#caller, { path: '', model: undefined });
    void this.#limits.limiter.logRefusal(accountId, { ...about, rateLimitType: type });
  }

  ended(status: number, code: ErrorCode | undefined): Promise<void> | undefined {
    // A refusal for the number of requests is no failure of one (LIMIT-8).
    if (!this.#counted || status < 400 || status === 429) return undefined;
    return this.#fillBudget(this.#counted, code);
  }

  #open(subject: Subject): CallCounters {
    const counted = countedOf(this.#limits, this.#caller, subject);
    this.#asked = subject;
    this.#counted = counted;
    this.#answering = counted;
    if (subject.estimatedTokens !== undefined) {
      this.#estimatedTokens = Math.max(1, Math.round(subject.estimatedTokens));
    }
    return counted;
  }

  #take(admitted: Admission, of: CallCounters): void {
    this.#admission = admitted;
    const { refusedBy, at } = admitted;
    this.#reportWindows(admitted, of);
    if (!refusedBy) return;
    if (refusedBy.windowMs === BUDGET_MS) this.headers = budgetHeaders(of.counters, admitted, refusedBy);
    throw refusal(refusedBy, stateOf(of.counters, admitted, refusedBy), { at, shared: of.shared });
  }

  #reportWindows(admitted: Admission, { counters, failed, reported }: CallCounters): void {
    this.budgetHeaders = budgetHeaders(counters, admitted, failed);
    this.headers = windowHeaders(counters, admitted, reported);
  }

  /** Admission of the route's windows, which follow those of the call. */
  #reportOwn({ refusedBy, at, states }: Admission, of: CallCounters, { counters }: LimitedCall): Admission {
    const admission = { refusedBy, at, states: states.slice(of.counters.length) };
    const requests = counters.find(({ type }) => type === 'RPM');
    this.headers = windowHeaders(counters, admission, { requests, tokens: undefined });
    return admission;
  }

  async #fillBudget({ failed, unsupported }: CallCounters, code: ErrorCode | undefined): Promise<void> {
    // One budget or the other: fifty unsupported features must not use up the two hundred failures.
    const budget = code === 'unsupported_feature' && unsupported ? unsupported : failed;
    await this.#limits.limiter.correct(this.#caller.accountId, budget, { count: 1 });
    if (budget === failed) this.budgetHeaders = withoutOne(this.budgetHeaders);
  }
}

function countersOf(limits: LimitSettings, caller: Caller, subject: Subject): CallCounters {
  const { accountId, keyId } = caller;
  const override = limits.overrideOf(accountId);
  const about = aboutOf(limits, caller, subject);
  const { modelId } = about;
  const budgetSubject = `${keyId ?? 'wallet'}:${modelId}`;
  const budget = (type: Counter['type'], limit: number): Counter => {
    return { type, subject: budgetSubject, limit, cost: 0, windowMs: BUDGET_MS };
  };
  const model = subject.model === undefined ? undefined : limits.modelOf(subject.model, subject.modelType);
  const perMinute = model && perMinuteOf(model, limits.tierOf(accountId), override);
  const minute = (type: Counter['type'], limit: number | undefined): Counter | undefined => {
    if (limit === undefined || !model) return undefined;
    return { type, subject: model.id, limit, cost: 1, windowMs: MINUTE_MS };
  };
  const failed = budget('FAILED_REQUESTS', override.failedPer30s ?? FAILED_PER_30S);
  const unsupported = FEATURE_ROUTES.has(subject.path)
    ? budget('UNSUPPORTED_FEATURE_REQUESTS', UNSUPPORTED_PER_30S)
    : undefined;
  const requests = minute('RPM', perMinute?.requests);
  const tokens = minute('TPM', perMinute?.tokens);
  const shared = requests ? undefined : sharedWindow(subject, model, override);
  const all = [failed, unsupported, requests, tokens, shared?.counter];
  return {
    ...{ accountId, failed, unsupported, requests, tokens, shared, about },
    reported: { requests: requests ?? shared?.counter, tokens },
    counters: all.filter((counter) => counter !== undefined),
  };
}

function sharedWindow(
  { requestLimit }: Subject,
  model: Model | undefined,
  override: LimitOverride,
): SharedWindow | undefined {
  if (requestLimit === 'own') return undefined;
  const group = requestLimit === 'jobs' || model ? 'jobs' : 'routes';
  const limit = requestsOf(group, override);
  return { group, counter: { type: 'RPM', subject: group, limit, cost: 1, windowMs: MINUTE_MS } };
}

function aboutOf(limits: LimitSettings, { accountId, keyId }: Caller, subject: Subject): RefusedCall {
  const rateLimitTier = limits.tierOf(accountId);
  return { apiKeyId: keyId ?? '', modelId: modelIdOf(limits, subject), rateLimitTier };
}

/** Id of the counted model, or its substitute in the log (LIMIT-6). */
function modelIdOf(limits: LimitSettings, { path, model, modelType }: Subject): string {
  if (model === undefined) return `endpoint:api/v1${path.replace(/\/\{.*$/, '')}`;
  return limits.modelOf(model, modelType)?.id ?? 'model:unknown';
}

const SHARED_WORDS: Record<RequestGroup, string> = {
  routes: 'to all routes without a model',
  jobs: 'about jobs',
};

function refusal(
  counter: Counter,
  { resetsAt }: CounterState,
  { at, shared }: { at: number; shared?: SharedWindow | undefined },
): FareboxError {
  const message =
    shared?.counter === counter
      ? `Rate limit exceeded: at most ${counter.limit} requests per minute ${SHARED_WORDS[shared.group]}.`
      : refusalOf(counter.type, counter.limit);
  return new FareboxError({
    code: 'rate_limited',
    message,
    retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - at) / 1_000)),
  });
}
