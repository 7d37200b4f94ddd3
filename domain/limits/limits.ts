/** Limits of requests and tokens of an account per model (LIMIT-1 to LIMIT-4). Money does not depend on them. */
import type { ModelSize, ModelType } from '../catalogue/model.ts';

export type Tier = 'paid' | 'partner' | 'staff';

/** Undefined: there is no such limit. */
export interface PerMinute {
  requests: number | undefined;
  tokens: number | undefined;
}

export interface LimitedModel {
  type: ModelType;
  /** Default: the size with the lowest limits. Embedding models are always XS. */
  size?: ModelSize | undefined;
}

/** Overrides of one account beyond its tier (`limits.overrides`). */
export interface LimitOverride {
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  failedPer30s?: number | undefined;
  rpcRequestsPerMinute?: number | undefined;
  rpcCreditsPerDay?: number | undefined;
  /** Per process; for wallets over all processes. */
  callsInFlight?: number | undefined;
  /** Per process: bytes of uploads on disk and of fetched media, of all calls in flight. */
  fetchedBytes?: number | undefined;
  /** Per process: slots for decoding media, pictures, documents and pages, of each kind. */
  slots?: number | undefined;
}

/** Per minute and account, for all routes without a model or a limit of their own. */
const ROUTES_PER_MINUTE = 1_200;
/** Per minute and account, for routes that clients poll about jobs. */
export const JOBS_PER_MINUTE = 60_000;
const CALLS_IN_FLIGHT = 2_000;
/** Concurrent calls of a wallet (LIMIT-5). */
const WALLET_CALLS_IN_FLIGHT = 5;
export const FETCHED_BYTES = 1_000_000_000;
/** Bytes of fetched media of one account that a process keeps in memory while it answers. */
export const MEDIA_BYTES_IN_MEMORY = 128 * 1024 * 1024;

/** Jobs are charged one by one: a lower override for requests of models does not apply to them. */
export function requestsOf(group: RequestGroup, { requestsPerMinute }: LimitOverride): number {
  if (group === 'jobs') return Math.max(JOBS_PER_MINUTE, requestsPerMinute ?? 0);
  return requestsPerMinute ?? ROUTES_PER_MINUTE;
}

/** Routes that share a window of requests. */
export type RequestGroup = 'routes' | 'jobs';

export function callsInFlightOf({ callsInFlight }: LimitOverride, isWallet: boolean): number {
  return callsInFlight ?? (isWallet ? WALLET_CALLS_IN_FLIGHT : CALLS_IN_FLIGHT);
}

const BY_SIZE: Record<ModelSize, Record<'paid' | 'partner', PerMinute>> = {
  XS: { paid: { requests: 500, tokens: 5_000_000 }, partner: { requests: 500, tokens: 10_000_000 } },
  S: { paid: { requests: 150, tokens: 3_000_000 }, partner: { requests: 300, tokens: 6_000_000 } },
  M: { paid: { requests: 100, tokens: 2_000_000 }, partner: { requests: 200, tokens: 4_000_000 } },
  L: { paid: { requests: 100, tokens: 2_000_000 }, partner: { requests: 150, tokens: 3_000_000 } },
};

/** Limits of decision models (LIMIT-3). */
const DECISIONS = {
  paid: { requests: 100, tokens: 1_000_000 },
  partner: { requests: 300, tokens: 10_000_000 },
};
const PICTURES = { paid: 20, partner: 60 } as const;
const SPEECH = { paid: 60, partner: 120 } as const;

/** Jobs (video, music, voice changer) have no rate limit: they are charged one by one. */
export function perMinuteOf(model: LimitedModel, tier: Tier, override: LimitOverride = {}): PerMinute {
  const published = publishedOf(model, tier === 'staff' ? 'partner' : tier);
  return {
    requests: published.requests === undefined ? undefined : (override.requestsPerMinute ?? published.requests),
    tokens: published.tokens === undefined ? undefined : (override.tokensPerMinute ?? published.tokens),
  };
}

function publishedOf({ type, size }: LimitedModel, tier: 'paid' | 'partner'): PerMinute {
  switch (type) {
    case 'text':
      return BY_SIZE[size ?? 'L'][tier];
    case 'decision':
      return DECISIONS[tier];
    case 'embedding':
      return BY_SIZE.XS[tier];
    case 'image':
    case 'upscale':
    case 'inpaint':
      return { requests: PICTURES[tier], tokens: undefined };
    case 'tts':
    case 'asr':
      return { requests: SPEECH[tier], tokens: undefined };
    case 'music':
    case 'video':
      return { requests: undefined, tokens: undefined };
  }
}

/** Names of the causes, as the rate limit log has them. */
export const LIMIT_TYPES = [
  'RPM',
  'RPD',
  'TPM',
  'FAILED_REQUESTS',
  'UNSUPPORTED_FEATURE_REQUESTS',
  'CALLS_IN_FLIGHT',
  'FETCHED_BYTES',
  'SLOTS',
] as const;
export type LimitType = (typeof LIMIT_TYPES)[number];

export const MINUTE_MS = 60_000;
/** Sliding window of the error budgets, per model and API key (LIMIT-7). */
export const BUDGET_MS = 30_000;
export const FAILED_PER_30S = 50;
export const UNSUPPORTED_PER_30S = 200;

/** Message of a 429, which names the limit. */
export function refusalOf(type: LimitType, limit: number): string {
  switch (type) {
    case 'RPM':
      return `Rate limit exceeded: at most ${limit} requests per minute for this model.`;
    case 'RPD':
      return `Rate limit exceeded: at most ${limit} requests per day for this model.`;
    case 'TPM':
      return `Rate limit exceeded: at most ${limit} tokens per minute for this model.`;
    case 'FAILED_REQUESTS':
      return `Too many failed attempts (> ${limit}) resulting in a non-success status code. Please wait 30 seconds and try again.`;
    case 'UNSUPPORTED_FEATURE_REQUESTS':
      return `Too many requests (> ${limit}) for features that the model does not support. Please wait 30 seconds and try again.`;
    case 'CALLS_IN_FLIGHT':
      return `Rate limit exceeded: at most ${limit} requests at a time for this account.`;
    case 'FETCHED_BYTES':
      return `Rate limit exceeded: at most ${limit} bytes of uploads and fetched media at a time for this account.`;
    case 'SLOTS':
      return `Rate limit exceeded: at most ${limit} media or documents of this account are read at a time, and too many wait.`;
  }
}
