/**
 * Settings that provider entries of several kinds have in common, with every default filled in. A kind adds its own, and its
 * schema says which of these it takes: see providers/registry.ts.
 */

export interface ProviderTimeouts {
  /** Until the connection stands. */
  connectMs: number;
  /** From the sent request to the first byte of the answer: a synchronous engine works in this time. */
  firstByteMs: number;
  /** The longest silence inside a body. */
  idleMs: number;
}

/** Means of reaching a foreign service. An entry whose `apiKeyEnv` names an unset variable is absent: its models are offline. */
interface RemoteSettings {
  /** Absolute http(s) address; each adapter has the published one of its service as a default. */
  baseUrl?: string;
  /** Name of the environment variable that holds the secret. Default: `keyVariable` of the kind. */
  apiKeyEnv?: string;
  /** Lets `baseUrl` name a host on a private network. */
  allowPrivateNetwork?: boolean;
  timeouts?: Partial<ProviderTimeouts>;
}

/** Bounds on the use of an entry by all workers together. */
export interface ProviderLimits {
  /** Jobs that are with it at the same time. */
  concurrent?: number;
  /** Jobs that are handed to it in any minute. */
  perMinute?: number;
}

/** One of several addresses of the same service; the rest is the entry's. */
export interface RemoteUpstream {
  baseUrl: string;
  apiKeyEnv?: string;
  /** Share of the requests; default 1. */
  weight?: number;
}

/**
 * Fate of an upstream stream whose client has left: its connection is closed at once, or it is read to its end and billed by
 * the usage that the service tells there.
 */
export const ON_DISCONNECT = ['abort', 'drain'] as const;
export type OnDisconnect = (typeof ON_DISCONNECT)[number];

export interface ProviderSettings extends RemoteSettings {
  /** A kind of providers/registry.ts. */
  kind: string;
  /** Instead of `baseUrl`. */
  upstreams?: readonly RemoteUpstream[];
  /** Policy of text models. Default: `abort`. A model may have its own. */
  onDisconnect?: OnDisconnect;
  /** Limits of queued jobs. */
  limits?: ProviderLimits;
  /** Whether the service is told where to call back. Default: where our public address is https and leads outside. */
  callbacks?: boolean;
}

/** The search engine, as the configuration's `search` gives it. */
export type SearchSettings =
  | ({ kind: 'brave' } & RemoteSettings)
  | ({ kind: 'searxng'; baseUrl: string } & RemoteSettings);
