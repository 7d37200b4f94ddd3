/** The configuration of a process: environment, configuration file and built-in defaults, checked as a whole. */
import path from 'node:path';
import { type Catalogue, createCatalogue, mergeModels } from '../../domain/catalogue/catalogue.ts';
import type { Character } from '../../domain/catalogue/character.ts';
import { type Model, type Price, priceOf } from '../../domain/catalogue/model.ts';
import { placeModels } from '../../domain/catalogue/placeModels.ts';
import type { ModelSurroundings } from '../../domain/modelAccess.ts';
import { type ConfiguredProviders, findProvider } from '../../domain/providerKind.ts';
import { servesMediaOnly, type TaskQueue } from '../../domain/queues.ts';
import { withCacheWriteRates } from '../../domain/text/price.ts';
import { workflowBuildId } from './buildVersion.ts';
import { readCharacters } from './characters.ts';
import { configuredProviders, OLLAMA_PROVIDER } from './configuredProviders.ts';
import { withDemoChain } from './demoChain.ts';
import {
  type CompleteEnvironment,
  processEnvironment,
  REQUIRED_VARIABLES,
  readEnvironment,
  requireVariables,
  secretReader,
} from './environment.ts';
import { DEFAULT_OLLAMA, ollamaAddress } from './ollamaAddress.ts';
import { requirePaymentKeys } from './paymentKeys.ts';
import { readConfigurationFile } from './readFile.ts';
import type { ConfigurationFile } from './schema/file.ts';
import type { ConfigurableKinds } from './schema/primitives.ts';
import { toModel } from './toModel.ts';
import { type X402Settings, x402Settings } from './x402.ts';

interface S3Config {
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

export interface Config extends ConfiguredProviders {
  host: string;
  /** 0: any free port. */
  port: number;
  dataFolder: string;
  /** Without a slash at the end; download links and callbacks are built from it. */
  publicUrl: string;
  /** Whether outside services can reach that address. */
  isPublic: boolean;
  logLevel: CompleteEnvironment['LOG_LEVEL'];
  otlpEndpoint?: string;
  databaseUrl: string;
  redisUrl: string;
  s3: S3Config;
  temporal: { address: string; namespace: string };
  ffmpegPath: string;
  ffprobePath: string;
  /** Undefined: no speech synthesis on this machine. */
  espeakPath?: string;
  /** Undefined: no transcription on this machine. */
  recogniser?: { path: string; model: string };
  workerQueues: TaskQueue[];
  /** Concurrent steps of a worker process, where workers/queues.ts does not decide. */
  workerSlots: Partial<Record<TaskQueue, number>>;
  /** Time that an API process has to finish its requests when it is told to stop. */
  drainSeconds: number;
  /** Where a worker answers `GET /metrics`: 0 is any free port, undefined is nowhere. */
  workerMetricsPort?: number;
  /** Opens metrics and the parts in `GET /readyz` to callers on other machines; undefined: to nobody. */
  metricsToken?: string;
  /** Arms a failpoint; set by the kill tests only. */
  testPoint?: string;
  buildId: string;
  /** `systemPrompt`: first message for every chat model, unless the client declines. */
  brand: { name: string; aliases: string[]; systemPrompt: string };
  /** Address of an Ollama to look for at the start; undefined: none. */
  ollamaAddress?: string;
  /** All listed models; those that cannot be called now are offline. */
  models: readonly Model[];
  /** The same, with all their aliases. */
  modelCatalogue: Catalogue;
  characters: readonly Character[];
  fetch: { allowPrivateHosts: string[] };
  media: { retentionHours: number };
  images: ConfigurationFile['images'];
  jobs: { deadlineMinutes: number; pollFirstMs: number; pollLongestMs: number };
  limits: ConfigurationFile['limits'];
  /** Prices of products without a model. */
  prices: Record<keyof ConfigurationFile['prices'], Price>;
  catalogue: ConfigurationFile['catalogue'];
  cors: ConfigurationFile['cors'];
  rpc: ConfigurationFile['rpc'];
  x402: X402Settings;
  search?: NonNullable<ConfigurationFile['search']>;
  /**
   * The value of the environment variable that an `apiKeyEnv` names, or of the file that `<name>_FILE` names; undefined
   * when unset or empty.
   */
  secret(name: string): string | undefined;
}

/**
 * `kinds`: provider kinds that the file may name. Throws ConfigError, whose message names the variable or the path in
 * the file, what was found and what is allowed.
 */
export function loadConfig(kinds: ConfigurableKinds, source: NodeJS.ProcessEnv = processEnvironment()): Config {
  const environment = readEnvironment(source);
  requireVariables(environment, REQUIRED_VARIABLES);
  const file = withDemoChain(
    kinds,
    readConfigurationFile(kinds, environment.FAREBOX_CONFIG),
    environment.FAREBOX_DEMO_CHAIN,
  );
  const secret = secretReader(source);
  if (!servesMediaOnly(environment.FAREBOX_WORKER_QUEUES)) requirePaymentKeys(file.x402.networks, secret);
  const address = ollamaOf(environment);
  const configured = configuredProviders(kinds, file.providers, address);
  const programs = localPrograms(environment);
  return {
    ...fromEnvironment(environment),
    ...fromFile(file, { ...configured, ...programs, secret }),
    ...configured,
    ...programs,
    ...optional('ollamaAddress', isOllamaSought(environment, file) ? address : undefined),
    x402: x402Settings(file.x402, publicUrl(environment), secret),
    ...optional('workerMetricsPort', environment.FAREBOX_METRICS_PORT ?? file.metrics.workerPort),
    secret,
  };
}

function fromEnvironment(environment: CompleteEnvironment) {
  return {
    host: environment.HOST,
    port: environment.PORT,
    dataFolder: path.resolve(environment.FAREBOX_DATA),
    publicUrl: publicUrl(environment),
    isPublic: isPublic(environment),
    logLevel: environment.LOG_LEVEL,
    databaseUrl: environment.DATABASE_URL,
    redisUrl: environment.REDIS_URL,
    s3: {
      endpoint: environment.S3_ENDPOINT,
      region: environment.S3_REGION,
      bucket: environment.S3_BUCKET,
      accessKeyId: environment.S3_ACCESS_KEY_ID,
      secretAccessKey: environment.S3_SECRET_ACCESS_KEY,
    },
    temporal: { address: environment.TEMPORAL_ADDRESS, namespace: environment.TEMPORAL_NAMESPACE },
    ffmpegPath: environment.FFMPEG_PATH,
    ffprobePath: environment.FFPROBE_PATH,
    workerQueues: environment.FAREBOX_WORKER_QUEUES,
    workerSlots: {
      ...optional('jobs', environment.FAREBOX_JOBS_SLOTS),
      ...optional('media', environment.FAREBOX_MEDIA_SLOTS),
      ...optional('providers', environment.FAREBOX_PROVIDER_SLOTS),
    },
    drainSeconds: environment.FAREBOX_DRAIN_SECONDS,
    buildId: environment.FAREBOX_BUILD_ID ?? workflowBuildId(),
    ...optional('otlpEndpoint', environment.OTEL_EXPORTER_OTLP_ENDPOINT),
    ...optional('metricsToken', environment.FAREBOX_METRICS_TOKEN),
    ...optional('testPoint', environment.FAREBOX_TEST_POINT),
  };
}

function localPrograms({ ESPEAK_PATH, POCKETSPHINX_PATH: path, POCKETSPHINX_MODEL: model }: CompleteEnvironment) {
  return {
    ...optional('espeakPath', ESPEAK_PATH),
    ...optional('recogniser', path === undefined ? undefined : { path, model }),
  };
}

function fromFile(file: ConfigurationFile, surroundings: ModelSurroundings) {
  const models = placeModels(mergeModels(file.models.map(toModel)), surroundings).map((model) =>
    model.kind === 'text' && findProvider(surroundings, model.provider)?.kind.chargesCacheWrites
      ? withCacheWriteRates(model)
      : model,
  );
  const modelCatalogue = createCatalogue(models, surroundings);
  return {
    brand: file.brand,
    models: modelCatalogue.models,
    modelCatalogue,
    characters: readCharacters(file.catalogue.charactersFile, modelCatalogue),
    fetch: file.fetch,
    media: file.media,
    images: file.images,
    jobs: file.jobs,
    limits: file.limits,
    prices: pricesOf(file.prices),
    catalogue: file.catalogue,
    cors: file.cors,
    rpc: file.rpc,
    ...optional('search', file.search),
  };
}

function pricesOf({ scrape, search, voiceCloning, rpcCredit }: ConfigurationFile['prices']) {
  return {
    ...{ scrape: priceOf(scrape), search: priceOf(search) },
    ...{ voiceCloning: priceOf(voiceCloning), rpcCredit: priceOf(rpcCredit) },
  };
}

function ollamaOf({ OLLAMA_HOST }: CompleteEnvironment): string | undefined {
  return OLLAMA_HOST === undefined ? DEFAULT_OLLAMA : ollamaAddress(OLLAMA_HOST);
}

/** An operator's entry with the name of the built-in one replaces it completely. */
function isOllamaSought({ OLLAMA_HOST }: CompleteEnvironment, file: ConfigurationFile): boolean {
  const { find = OLLAMA_HOST !== undefined } = file.ollama;
  return find && !Object.hasOwn(file.providers, OLLAMA_PROVIDER);
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]?: Value });
}

function publicUrl(environment: CompleteEnvironment): string {
  if (environment.FAREBOX_PUBLIC_URL !== undefined) return environment.FAREBOX_PUBLIC_URL.replace(/\/+$/, '');
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[environment.HOST] ?? environment.HOST;
  const host = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `http://${host}:${environment.PORT}`;
}

/** An address derived from the listening socket is not reachable from outside. */
function isPublic({ FAREBOX_PUBLIC_URL }: CompleteEnvironment): boolean {
  if (FAREBOX_PUBLIC_URL === undefined) return false;
  const { protocol, hostname } = new URL(FAREBOX_PUBLIC_URL);
  return protocol === 'https:' && !/^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}
