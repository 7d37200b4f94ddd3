/**
 * Settings that provider entries of several kinds share, with all defaults filled in. A kind adds its own, and its
 * schema says which of these it accepts: see providers/registry.ts.
 */

export interface ProviderTimeouts {
  /** Until the connection is established. */
  connectMs: number;
  /** From the sent request to the first byte of the answer, which includes the work of a synchronous engine. */
  firstByteMs: number;
  /** Longest pause within a body. */
  idleMs: number;
}

/** Access to a foreign service. An entry whose `apiKeyEnv` names an unset variable is absent, its models offline. */
interface RemoteSettings {
  /** Absolute http(s) URL; default: the published one of the service. */
  baseUrl?: string;
  /** Name of the environment variable that holds the secret. Default: `keyVariable` of the kind. */
  apiKeyEnv?: string;
  /** Allows a host on a private network in `baseUrl`. */
  allowPrivateNetwork?: boolean;
  timeouts?: Partial<ProviderTimeouts>;
}

/** Limits of an entry across all workers. */
export interface ProviderLimits {
  /** Jobs at the provider at the same time. */
  concurrent?: number;
  /** Jobs submitted in any minute. */
  perMinute?: number;
}

/** One of several addresses of a service; other settings are the entry's. */
export interface RemoteUpstream {
  baseUrl: string;
  apiKeyEnv?: string;
  /** Share of the requests; default 1. */
  weight?: number;
}

/**
 * Handling of an upstream stream whose client has left: close it at once, or read it to the end and bill the usage that
 * the service reports there.
 */
export const ON_DISCONNECT = ['abort', 'drain'] as const;
export type OnDisconnect = (typeof ON_DISCONNECT)[number];

export interface ProviderSettings extends RemoteSettings {
  /** Kind in providers/registry.ts. */
  kind: string;
  /** Instead of `baseUrl`. */
  upstreams?: readonly RemoteUpstream[];
  /** Published models that the operator maps to this entry: id → name there. */
  publishedModels?: Readonly<Record<string, string>>;
  /** Policy of text models. Default: `abort`. A model may have its own. */
  onDisconnect?: OnDisconnect;
  /** Limits of queued jobs. */
  limits?: ProviderLimits;
  /** Whether the service gets a callback URL. Default: when our public address is https and public. */
  callbacks?: boolean;
}

/** Search engine, from `search` of the configuration. */
export type SearchSettings =
  | ({ kind: 'brave' } & RemoteSettings)
  | ({ kind: 'searxng'; baseUrl: string } & RemoteSettings);
