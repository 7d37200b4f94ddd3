/**
 * The limits of one call (specification part 8): who it counts for, whether it may go on, which headers tell so, and what
 * it comes to in the error budgets when it has ended.
 */
import type { Caller } from '../../domain/caller.ts';
import type { Model, ModelType } from '../../domain/catalogue/model.ts';
import { modelNamed } from '../../domain/catalogue/resolveModel.ts';
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import {
  BUDGET_MS,
  FAILED_PER_30S,
  type LimitOverride,
  MINUTE_MS,
  perMinuteOf,
  refusalOf,
  type Tier,
  UNSUPPORTED_PER_30S,
} from '../../domain/limits/limits.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Admission, Counter, CounterState, LimitedCall, Limiter } from '../../infra/redis/limiter.ts';

export interface Limits {
  limiter: Limiter;
  tierOf(accountId: string): Tier;
  overrideOf(accountId: string): LimitOverride;
  /** By whatever name it answers to: another name of a model is no way round its limits. */
  modelOf(name: string, type: ModelType | undefined): Model | undefined;
}

export function createLimits(config: Config, limiter: Limiter): Limits {
  const partners = new Set(config.limits.partnerAccounts);
  const staff = new Set(config.limits.staffAccounts);
  const overrides = new Map(Object.entries(config.limits.overrides));
  return {
    limiter,
    tierOf: (accountId) => (staff.has(accountId) ? 'staff' : partners.has(accountId) ? 'partner' : 'paid'),
    overrideOf: (accountId) => overrides.get(accountId) ?? {},
    modelOf: (name, type) =>
      type === undefined
        ? config.modelCatalogue.byId.get(name)
        : modelNamed(config.modelCatalogue, { name, type, now: new Date().toISOString() }),
  };
}

/** What a call is about, as far as its body tells. */
export interface Subject {
  /** The route's pattern below `/api/v1`. */
  path: string;
  /** `model` of the body, when it is a string. */
  model: string | undefined;
  /** What the route serves. */
  modelType?: ModelType | undefined;
  /** What the call may use in tokens, when its model is limited by them. */
  estimatedTokens?: number;
}

export interface CallLimits {
  /** Throws FareboxError `rate_limited`. */
  admit(subject: Subject): Promise<void>;
  /** Another model is to answer: its limits are asked, and the tokens are its own. Throws FareboxError `rate_limited`. */
  admitModel(modelId: string): Promise<void>;
  /** Set on the answer, whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** The real number, once it is known. */
  noteTokens(used: number): Promise<void>;
  /** How the call ended; failures fill their budget. */
  ended(status: number, code: ErrorCode | undefined): Promise<void> | undefined;
}

/** What is counted for every call of one key to one route and model; made once, as long as the key is known. */
interface Counted extends LimitedCall {
  failed: Counter;
  unsupported: Counter | undefined;
  requests: Counter | undefined;
  tokens: Counter | undefined;
}

const countedBefore = new WeakMap<Caller, Map<string, Counted>>();
/** Clients choose the names of models: what one key asks for beyond this is put together anew each time. */
const MOST_KEPT = 200;
const LONGEST_KEPT = 200;

function countedOf(limits: Limits, caller: Caller, subject: Subject): Counted {
  let known = countedBefore.get(caller);
  if (known === undefined) {
    known = new Map();
    countedBefore.set(caller, known);
  }
  const name = subject.model === undefined ? subject.path : `${subject.path} ${subject.model}`;
  const before = known.get(name);
  if (before) return before;
  const counted = countersOf(limits, caller, subject);
  if (known.size < MOST_KEPT && name.length <= LONGEST_KEPT) known.set(name, counted);
  return counted;
}

/** Routes whose failures for features that a model lacks have a budget of their own (specification 8.2). */
const FEATURE_ROUTES = new Set(['/chat/completions', '/responses']);

export function openCall(limits: Limits, caller: Caller): CallLimits {
  const { accountId } = caller;
  let asked: Subject | undefined;
  /** Whose failures these are. */
  let counted: Counted | undefined;
  /** Whose requests and tokens these are. */
  let answering: Counted | undefined;
  let admission: Admission | undefined;
  let estimatedTokens: number | undefined;
  const headers: Record<string, string> = {};

  async function fillBudget({ failed, unsupported }: Counted, code: ErrorCode | undefined): Promise<void> {
    // One or the other: fifty of the second kind must not end what two hundred are allowed of.
    const budget = code === 'unsupported_feature' && unsupported ? unsupported : failed;
    await limits.limiter.correct(accountId, budget, { count: 1 });
    if (budget === unsupported) return;
    headers['x-ratelimit-remaining'] = String(Math.max(0, Number(headers['x-ratelimit-remaining']) - 1));
  }

  async function noteTokens(used: number): Promise<void> {
    if (!answering?.tokens || !admission) return;
    const before = estimatedTokens ?? answering.tokens.cost;
    const change = { count: Math.round(used) - before, at: admission.at };
    await limits.limiter.correct(accountId, answering.tokens, change);
  }

  return {
    headers,
    noteTokens,
    async admit(subject) {
      asked = subject;
      counted = countedOf(limits, caller, subject);
      if (subject.estimatedTokens !== undefined) {
        estimatedTokens = Math.max(1, Math.round(subject.estimatedTokens));
      }
      answering = counted;
      admission = await limits.limiter.admit(counted, estimatedTokens);
      const { refusedBy } = admission;
      const isBudget = refusedBy !== undefined && refusedBy.windowMs === BUDGET_MS;
      Object.assign(headers, budgetHeaders(counted, admission, refusedBy));
      if (!isBudget) Object.assign(headers, minuteHeaders(counted, admission));
      if (refusedBy) throw refusal(refusedBy, stateOf(counted, admission, refusedBy), admission.at);
    },
    async admitModel(modelId) {
      if (!asked || answering?.about?.modelId === modelId) return;
      const next = countedOf(limits, caller, { ...asked, model: modelId });
      const admitted = await limits.limiter.admit(next, estimatedTokens);
      const { refusedBy } = admitted;
      if (refusedBy) throw refusal(refusedBy, stateOf(next, admitted, refusedBy), admitted.at);
      await noteTokens(0);
      [answering, admission] = [next, admitted];
      Object.assign(headers, minuteHeaders(next, admitted));
    },
    ended(status, code) {
      if (!counted || status < 400 || status === 429 || (code && UNCOUNTED.has(code))) return undefined;
      return fillBudget(counted, code);
    },
  };
}

/** What a client cannot have meant: such requests are refused before anything is done for them (api-facts 8). */
const UNCOUNTED = new Set<ErrorCode>([
  'invalid_content_type',
  'invalid_json',
  'body_too_large',
  'rate_limited',
  'credential_missing',
]);

function countersOf(limits: Limits, caller: Caller, subject: Subject): Counted {
  const { accountId, keyId } = caller;
  const tier = limits.tierOf(accountId);
  const override = limits.overrideOf(accountId);
  const modelId = modelIdOf(limits, subject);
  const budgetSubject = `${keyId ?? 'wallet'}:${modelId}`;
  const budget = (type: Counter['type'], limit: number): Counter => {
    return { type, subject: budgetSubject, limit, cost: 0, windowMs: BUDGET_MS };
  };
  const model = subject.model === undefined ? undefined : limits.modelOf(subject.model, subject.modelType);
  const perMinute = model && perMinuteOf(model, tier, override);
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
  return {
    ...{ accountId, failed, unsupported, requests, tokens },
    counters: [failed, unsupported, requests, tokens].filter((counter) => counter !== undefined),
    about: { apiKeyId: keyId ?? '', modelId, rateLimitTier: tier },
  };
}

/** The model that is counted, or what stands for it in the log (api-facts 4.9). */
function modelIdOf(limits: Limits, { path, model, modelType }: Subject): string {
  if (model === undefined) return `endpoint:api/v1${path.replace(/\/\{.*$/, '')}`;
  return limits.modelOf(model, modelType)?.id ?? 'model:unknown';
}

function stateOf(counted: Counted, admission: Admission, counter: Counter): CounterState {
  const state = admission.states[counted.counters.indexOf(counter)];
  return state ?? { total: 0, resetsAt: admission.at };
}

/** Specification 8.2: what is left of the budget that is closest to its end, and Unix ms of its reset. */
function budgetHeaders(
  counted: Counted,
  admission: Admission,
  refusedBy: Counter | undefined,
): Record<string, string> {
  const budget = refusedBy?.windowMs === BUDGET_MS ? refusedBy : counted.failed;
  const { total, resetsAt } = stateOf(counted, admission, budget);
  return {
    'x-ratelimit-remaining': String(Math.max(0, budget.limit - total)),
    'x-ratelimit-resets': String(Math.ceil(resetsAt)),
  };
}

/** Specification 8.3; left out for what has no limit per minute. */
function minuteHeaders(counted: Counted, admission: Admission): Record<string, string> {
  const headers: Record<string, string> = {};
  const { requests, tokens } = counted;
  if (requests) {
    const { total, resetsAt } = stateOf(counted, admission, requests);
    headers['x-ratelimit-limit-requests'] = String(requests.limit);
    headers['x-ratelimit-remaining-requests'] = String(Math.max(0, requests.limit - total));
    headers['x-ratelimit-reset-requests'] = String(Math.ceil(resetsAt / 1_000));
  }
  if (tokens) {
    const { total, resetsAt } = stateOf(counted, admission, tokens);
    headers['x-ratelimit-limit-tokens'] = String(tokens.limit);
    headers['x-ratelimit-remaining-tokens'] = String(Math.max(0, tokens.limit - total));
    headers['x-ratelimit-reset-tokens'] = String(Math.ceil((resetsAt - admission.at) / 1_000));
  }
  return headers;
}

function refusal(counter: Counter, { resetsAt }: CounterState, at: number): FareboxError {
  return new FareboxError({
    code: 'rate_limited',
    message: refusalOf(counter.type, counter.limit),
    retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - at) / 1_000)),
  });
}
