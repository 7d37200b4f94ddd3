/** Facts about a kind of provider that the other floors need. Its adapters are in providers/, one folder for each kind. */
import type { ModelKind } from './catalogue/model.ts';
import type { ProviderSettings, RemoteUpstream } from './providerSettings.ts';

/**
 * The optional members say in what a kind differs from a remote service of one address. Members that take settings are
 * methods, so that kinds with different settings fit one list; the schema of the kind vouches for the settings.
 */
export interface ProviderKind<Settings extends ProviderSettings = ProviderSettings> {
  /** The name that `kind` of an entry gives. */
  readonly kind: string;
  /** Kinds of models that it can be asked for. A model of any other kind is in the catalogue, and offline. */
  readonly serves: readonly ModelKind[];
  /** Environment variable with the key of an entry that names none. Left out: no key is needed. */
  readonly keyVariable?: string;
  /** Whether the key of `keyVariable` may go to this address; undefined is the published one. Left out: to every address. */
  sendsKeyTo?(baseUrl: string | undefined): boolean;
  /** There is an entry of the same name without any configuration. */
  readonly isBuiltIn?: true;
  /** The work is done on this machine: jobs go to the task queue `media`, and nobody is paid. */
  readonly isLocal?: true;
  /** Says which program a model of this kind lacks on this machine, in words for the client. */
  missingProgram?(model: ModelKind, programs: LocalPrograms): string | undefined;
  /** All voices of its voice changers. Left out: the service knows. */
  readonly voices?: readonly string[];
  /** Adult pictures are not recognised. */
  readonly lacksClassifier?: true;
  /** Log probabilities are never reported. */
  readonly lacksLogprobs?: true;
  /** Writing to the prompt cache costs more than reading the prompt. */
  readonly chargesCacheWrites?: true;
  /** Left out: none of them. */
  textFeatures?(settings: Settings): TextFeatures;
  /** Names of its settings that are paths, which the file may give relative to itself. */
  readonly pathSettings?: readonly string[];
}

/** Programs of this machine, as the environment names them. */
export interface LocalPrograms {
  /** A speech synthesiser. */
  espeakPath?: string;
  /** A speech recogniser. */
  recogniser?: object;
}

/** Abilities of a text service beyond answering. */
export interface TextFeatures {
  xSearch: boolean;
  e2ee: boolean;
  /** Reasoning is counted beside the limit of an answer. */
  reasoningBeside: boolean;
  /** All reasoning is sent, in a field of its own. */
  showsReasoning: boolean;
}

/** The part of the configuration that says which providers there are. */
export interface ConfiguredProviders {
  /** By entry name. */
  providers: Readonly<Record<string, ProviderSettings>>;
  /** By the name of the kind: those of all entries are here. */
  providerKinds: ReadonlyMap<string, ProviderKind>;
}

export interface ProviderEntry {
  kind: ProviderKind;
  settings: ProviderSettings;
}

/** Undefined: there is no such entry. */
export function findProvider(
  { providers, providerKinds }: ConfiguredProviders,
  name: string,
): ProviderEntry | undefined {
  const settings = Object.hasOwn(providers, name) ? providers[name] : undefined;
  const kind = settings && providerKinds.get(settings.kind);
  return settings && kind && { settings, kind };
}

/** Kinds in the order in which people read them: first those that work without a key. */
export function keylessFirst<Kind extends ProviderKind>(kinds: Iterable<Kind>): Kind[] {
  const needsKey = ({ keyVariable }: Kind) => Number(keyVariable !== undefined);
  return [...kinds].sort((left, right) => needsKey(left) - needsKey(right));
}

interface ProviderAddress {
  /** Undefined: the published one of the service. */
  baseUrl: string | undefined;
  /** Environment variable with its key. Undefined: no key is sent. */
  keyVariable: string | undefined;
  weight: number;
}

/** All of `upstreams`, else the one address of the entry. */
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
