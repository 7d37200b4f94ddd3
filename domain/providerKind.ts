/** Facts about a kind of provider for other floors. Each kind has a folder of adapters in providers/. */
import type { ModelKind } from './catalogue/model.ts';
import type { ProviderSettings, RemoteUpstream } from './providerSettings.ts';

/** Ids of published models, each with its name at the provider. */
export type PublishedModels = Readonly<Record<string, string>>;

/**
 * Optional members state differences from a remote service with one address. Members with settings are methods, so that
 * kinds with different settings fit one list; the schema of the kind validates the settings.
 */
export interface ProviderKind<Settings extends ProviderSettings = ProviderSettings> {
  /** Value of `kind` in an entry. */
  readonly kind: string;
  /** Kinds of models that it supports. A model of another kind is in the catalogue, but offline. */
  readonly serves: readonly ModelKind[];
  /** Published models that an entry with these settings is known to serve (MODEL-15). Left out: none. */
  publishedModels?(settings: Settings): PublishedModels;
  /** Environment variable with the key, for an entry that names none. Left out: no key is needed. */
  readonly keyVariable?: string;
  /** Whether this address may get the key of `keyVariable`; undefined: the published one. Left out: all may. */
  sendsKeyTo?(baseUrl: string | undefined): boolean;
  /** An entry of the same name exists without any configuration. */
  readonly isBuiltIn?: true;
  /** The work runs on this machine: jobs use the task queue `media`, and nobody is paid. */
  readonly isLocal?: true;
  /** The answers are simulated: a trait moves to its models last (MODEL-16). */
  readonly isSimulated?: true;
  /** Names the program that a model of this kind lacks on this machine, in words for the client. */
  missingProgram?(model: ModelKind, programs: LocalPrograms): string | undefined;
  /** All voices of its voice changers. Left out: only the service knows them. */
  readonly voices?: readonly string[];
  /** Adult images are not recognised. */
  readonly lacksClassifier?: true;
  /** Log probabilities are never reported. */
  readonly lacksLogprobs?: true;
  /** Writing to the prompt cache costs more than reading the prompt. */
  readonly chargesCacheWrites?: true;
  /** Left out: no features. */
  textFeatures?(settings: Settings): TextFeatures;
  /** Names of settings that are paths, relative to the configuration file. */
  readonly pathSettings?: readonly string[];
}

/** Programs of this machine, from the environment. */
export interface LocalPrograms {
  /** A speech synthesiser. */
  espeakPath?: string;
  /** A speech recogniser. */
  recogniser?: object;
}

/** Features of a text service beyond answering. */
export interface TextFeatures {
  xSearch: boolean;
  e2ee: boolean;
  /** Reasoning is counted beside the limit of an answer. */
  reasoningBeside: boolean;
  /** All reasoning is sent, in its own field. */
  showsReasoning: boolean;
}

/** Part of the configuration with the providers. */
export interface ConfiguredProviders {
  /** By entry name. */
  providers: Readonly<Record<string, ProviderSettings>>;
  /** Kinds of all entries, by name. */
  providerKinds: ReadonlyMap<string, ProviderKind>;
}

export interface ProviderEntry {
  kind: ProviderKind;
  settings: ProviderSettings;
}

export function findProvider(
  { providers, providerKinds }: ConfiguredProviders,
  name: string,
): ProviderEntry | undefined {
  const settings = Object.hasOwn(providers, name) ? providers[name] : undefined;
  const kind = settings && providerKinds.get(settings.kind);
  return settings && kind && { settings, kind };
}

/** Sorts kinds for display: first those that work without a key. */
export function keylessFirst<Kind extends ProviderKind>(kinds: Iterable<Kind>): Kind[] {
  const needsKey = ({ keyVariable }: Kind) => Number(keyVariable !== undefined);
  return [...kinds].sort((left, right) => needsKey(left) - needsKey(right));
}

interface ProviderAddress {
  /** Undefined: the published address of the service. */
  baseUrl: string | undefined;
  /** Environment variable with its key. Undefined: no key is sent. */
  keyVariable: string | undefined;
  weight: number;
}

/** All of `upstreams`, or the one address of the entry. */
export function addressesOf({ kind, settings }: ProviderEntry): ProviderAddress[] {
  const upstreams: readonly Partial<RemoteUpstream>[] = settings.upstreams ?? [addressOf(settings)];
  return upstreams.map(({ baseUrl, apiKeyEnv = settings.apiKeyEnv, weight = 1 }) => ({
    baseUrl,
    keyVariable: apiKeyEnv ?? (kind.sendsKeyTo?.(baseUrl) === false ? undefined : kind.keyVariable),
    weight,
  }));
}

function addressOf({ baseUrl }: ProviderSettings): Partial<RemoteUpstream> {
  return baseUrl === undefined ? {} : { baseUrl };
}

const NO_FEATURES: TextFeatures = {
  xSearch: false,
  e2ee: false,
  reasoningBeside: false,
  showsReasoning: false,
};

export function textFeaturesOf(configured: ConfiguredProviders, { provider }: { provider: string }): TextFeatures {
  const entry = findProvider(configured, provider);
  return entry?.kind.textFeatures?.(entry.settings) ?? NO_FEATURES;
}
