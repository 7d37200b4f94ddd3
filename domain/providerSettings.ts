/**
 * Settings of a provider entry under `providers` of the configuration file, with every default filled in. The schema in
 * infra/config produces exactly these; the adapters read nothing else.
 */

export interface ProviderTimeouts {
  /** Until the connection stands. */
  connectMs: number;
  /** From the sent request to the first byte of the answer: a synchronous engine works in this time. */
  firstByteMs: number;
  /** The longest silence inside a body. */
  idleMs: number;
}

/** What a foreign service is reached with. An entry whose `apiKeyEnv` names an unset variable is absent: its models are offline. */
interface RemoteSettings {
  /** Absolute http(s) address; each adapter has the published one of its service as a default. */
  baseUrl?: string;
  /** Name of the environment variable that holds the secret; each adapter has a default. */
  apiKeyEnv?: string;
  /** Lets `baseUrl` name a host on a private network. */
  allowPrivateNetwork?: boolean;
  timeouts?: Partial<ProviderTimeouts>;
}

/** How much of an entry all workers together may use at once. */
export interface ProviderLimits {
  /** Jobs that are with it at the same time. */
  concurrent?: number;
  /** Jobs that are handed to it in any minute. */
  perMinute?: number;
}

/** Of the entries that queued jobs go to. */
interface QueuedSettings {
  limits?: ProviderLimits;
}

/** Of those that can call back. */
interface CallingSettings extends QueuedSettings {
  /** Whether it is told where; left out: where our public address is https and leads outside. */
  callbacks?: boolean;
}

/** ffmpeg, a speech synthesiser and a recogniser on this machine: no key, no network. */
export interface LocalSettings extends QueuedSettings {
  kind: 'local';
  /** Whether a speech synthesiser is there: told by the environment (ESPEAK_PATH), not by the file. */
  speaks?: boolean;
  /** The same of a speech recogniser (POCKETSPHINX_PATH). */
  hears?: boolean;
}

interface ElevenLabsSettings extends RemoteSettings, QueuedSettings {
  kind: 'elevenlabs';
}

/** Where a simulated fault strikes: while an order is handed in, while it is asked about, or while its output is fetched. */
export const SIMULATOR_STAGES = ['submit', 'poll', 'download'] as const;
export type SimulatorStage = (typeof SIMULATOR_STAGES)[number];

/** How a simulated order ends when no fault strikes it. `hang`: it runs for ever. */
export const SIMULATOR_OUTCOMES = [
  'done',
  'refused',
  'content_policy',
  'failed',
  'credential',
  'hang',
  'garbage-output',
  'empty-output',
  'truncated-output',
] as const;
type SimulatorOutcome = (typeof SIMULATOR_OUTCOMES)[number];

export const SIMULATOR_FAULTS = [
  /** The service did its part, the caller never learns: answered `unknown`. At submit the order is accepted. */
  'reply-lost',
  /** The request never arrived, the caller cannot tell: answered `unknown`. At submit nothing is accepted. */
  'request-lost',
  /** Refused as a wrong order. */
  'refused',
  'content_policy',
  'failed',
  /** Our credential is not accepted. */
  'credential',
  /** Not accepted: too many at once. */
  'busy',
  /** Not accepted: the whole service is overloaded. */
  'overloaded',
  /** Not accepted: too many in this minute. */
  'rate_limited',
  /** Silence for `delayMs` (or until the call is given up), then `unknown`. At submit the order is accepted. */
  'hang',
  /** Accepted, the reply lost, and the output ready only `delayMs` later than usual; at poll: later by `delayMs`. */
  'late-success',
  /** The order succeeds and its output is neither audio nor video, empty, or cut in the middle. */
  'garbage-output',
  'empty-output',
  'truncated-output',
] as const;
export type SimulatorFaultKind = (typeof SIMULATOR_FAULTS)[number];

export interface SimulatorFault {
  at: SimulatorStage;
  kind: SimulatorFaultKind;
  /** Strikes every N-th call of its stage (per provider entry and model, over all processes); 1 is each. Default 1. */
  every: number;
  /** For `hang` and `late-success`; default 60,000. */
  delayMs?: number;
  /** For `busy`, `overloaded` and `rate_limited`: what the service asks the caller to wait. */
  retryAfterMs?: number;
}

export interface SimulatorBehaviour {
  /** How long an order runs; 0 answers with the result at once. Default 0. */
  latencyMs: number;
  /** Default `done`. */
  outcome: SimulatorOutcome;
  /** Default none. The first one that strikes a call decides. */
  faults: readonly SimulatorFault[];
  /** Whether an order can be found by our reference after a lost reply. Default true. */
  lookup: boolean;
  /** True: it has no queue; handing an order in takes the whole latency and answers with the result. Default false. */
  synchronous: boolean;
}

/** A deterministic stand-in for tests and demonstrations; it never calls anybody. */
export interface SimulatorSettings extends SimulatorBehaviour, QueuedSettings {
  kind: 'simulator';
  /** Overrides by the model's `upstreamModel` (its id where none is given). */
  models: Readonly<Record<string, Partial<SimulatorBehaviour>>>;
  /**
   * Folder in which the accepted orders are written down; shared by all workers of the entry, on one machine or on a
   * common volume. Default: `simulator/<entry name>` in the data folder.
   */
  stateFolder?: string;
}

/** One of several addresses of the same service; the rest is the entry's. */
export interface RemoteUpstream {
  baseUrl: string;
  apiKeyEnv?: string;
  /** Share of the requests; default 1. */
  weight?: number;
}

/** Whose manner of that API a service has: OpenAI's own, that of vLLM and llama.cpp, or Ollama's. */
export const OPENAI_DIALECTS = ['openai', 'compatible', 'ollama'] as const;
export type OpenAiDialect = (typeof OPENAI_DIALECTS)[number];
/** `{"type": "x_search"}` among the tools, or `search_parameters` with X as the source. */
export const X_SEARCH_FORMS = ['tool', 'search_parameters'] as const;
export type XSearchForm = (typeof X_SEARCH_FORMS)[number];

/**
 * Fate of an upstream stream whose client has left: its connection is closed at once, or it is read to its end and billed by
 * the usage that the service tells there.
 */
export const ON_DISCONNECT = ['abort', 'drain'] as const;
export type OnDisconnect = (typeof ON_DISCONNECT)[number];

/** Entries whose models answer in streams of text. */
interface StreamingSettings {
  /** Default: `abort`. A model may say otherwise. */
  onDisconnect?: OnDisconnect;
}

/**
 * A service with OpenAI's API. Without an address OpenAI itself, with the key in OPENAI_API_KEY; with an address and no
 * `apiKeyEnv` no key is sent at all, so that a key for OpenAI never reaches anybody else.
 */
export interface OpenAiSettings extends RemoteSettings, StreamingSettings {
  kind: 'openai';
  /** Default: by the address. */
  dialect?: OpenAiDialect;
  /** How a search on X is asked for; left out: the service has none. */
  xSearch?: XSearchForm;
  /** True: it counts reasoning beside the limit of an answer. Default: by the address; xAI does. */
  reasoningBeside?: boolean;
  /**
   * True: it sends all reasoning of its models, in a field of its own. Default: by the address; OpenAI, xAI, Google, Azure and
   * OpenRouter do not, nor does any with the dialect `openai`.
   */
  showsReasoning?: boolean;
  /** True: encrypted requests are passed on with `x-client-pub-key`, `x-model-pub-key` and `x-signing-algo`. */
  e2ee?: boolean;
  /** Instead of `baseUrl`. */
  upstreams?: readonly RemoteUpstream[];
}

/** The default of `apiKeyEnv` is ANTHROPIC_API_KEY. */
export interface AnthropicSettings extends RemoteSettings, StreamingSettings {
  kind: 'anthropic';
  /** Instead of `baseUrl`. */
  upstreams?: readonly RemoteUpstream[];
}

/** The default of `apiKeyEnv` is REPLICATE_API_TOKEN. */
interface ReplicateSettings extends RemoteSettings, CallingSettings {
  kind: 'replicate';
}

/** The default of `apiKeyEnv` is FAL_KEY. A `baseUrl` stands for all of the service's hosts: queue, storage and keys. */
interface FalSettings extends RemoteSettings, CallingSettings {
  kind: 'fal';
}

export type ProviderSettings =
  | LocalSettings
  | ElevenLabsSettings
  | SimulatorSettings
  | OpenAiSettings
  | AnthropicSettings
  | ReplicateSettings
  | FalSettings;

/** The search engine, as the configuration's `search` gives it. */
export type SearchSettings =
  | ({ kind: 'brave' } & RemoteSettings)
  | ({ kind: 'searxng'; baseUrl: string } & RemoteSettings);

export type ProviderKind = ProviderSettings['kind'];

export function limitsOf(settings: ProviderSettings | undefined): ProviderLimits {
  return (settings && 'limits' in settings && settings.limits) || {};
}
