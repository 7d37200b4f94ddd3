/** Checks beyond the schema: names that must exist, ids that must differ, parts that must fit together. */

import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import { providersOf } from '../../domain/modelAccess.ts';
import { type ConfiguredProviders, findProvider } from '../../domain/providerKind.ts';
import { RPC_NETWORKS } from '../../domain/rpc/networks.ts';
import { checkPayments } from './checkPayments.ts';
import { configuredProviders } from './configuredProviders.ts';
import { problemLine } from './problems.ts';
import type { ConfigurationFile } from './schema/file.ts';
import { isVoiceChanger, type ModelEntry, type VoiceChangerEntry } from './schema/models.ts';
import type { ConfigurableKinds } from './schema/primitives.ts';

/** Lines of the form `path: found …, allowed: …`; empty when the file agrees with itself. */
export function crossCheck(kinds: ConfigurableKinds, file: ConfigurationFile): string[] {
  const configured = configuredProviders(kinds, file.providers);
  const first = new Map<string, number>();
  const problems: string[] = [];
  for (const [index, entry] of file.models.entries()) {
    const earlier = first.get(entry.id);
    if (earlier === undefined) first.set(entry.id, index);
    else {
      const found = `${JSON.stringify(entry.id)}, which models[${earlier}] has already`;
      problems.push(problemLine(['models', index, 'id'], found, 'an id of its own'));
    }
    problems.push(...checkModel(entry, index, configured));
  }
  const { rpc, x402 } = file;
  problems.push(...checkPublishedModels(file, configured));
  return [...problems, ...checkNames(file.models), ...checkPayments(x402.networks), ...checkRpcNetworks(rpc.networks)];
}

function checkModel(entry: ModelEntry, index: number, configured: ConfiguredProviders): string[] {
  const problems: string[] = [];
  const provider = findProvider(configured, entry.provider)?.kind;
  if (provider === undefined) {
    const names = Object.keys(configured.providers).join(', ');
    problems.push(problemLine(['models', index, 'provider'], JSON.stringify(entry.provider), `one of ${names}`));
  } else if (isVoiceChanger(entry) && !provider.serves.includes('voice-changer')) {
    const found = `${JSON.stringify(entry.provider)}, of kind "${provider.kind}"`;
    const served = providersOf(configured.providerKinds.values(), 'voice-changer');
    const allowed = `for a voice changer a provider of kind ${served.join(', ')}`;
    problems.push(problemLine(['models', index, 'provider'], found, allowed));
  }
  if (isVoiceChanger(entry) && provider?.voices) problems.push(...checkVoices(entry, index, provider.voices));
  const method = entry.type === 'decision' ? entry.evaluation?.method : undefined;
  if (method === 'logprobs' && provider?.lacksLogprobs) {
    const allowed = `"sampling": a provider of kind "${provider.kind}" tells no log probabilities`;
    problems.push(problemLine(['models', index, 'evaluation', 'method'], JSON.stringify(method), allowed));
  }
  if (entry.spec.privacy !== undefined && entry.spec.privacy !== entry.privacy) {
    const allowed = `the same as models[${index}].privacy, or nothing`;
    problems.push(problemLine(['models', index, 'spec', 'privacy'], JSON.stringify(entry.spec.privacy), allowed));
  }
  return problems;
}

function checkVoices(entry: VoiceChangerEntry, index: number, known: readonly string[]): string[] {
  const { voices = [], default_voice: preset } = entry.spec;
  const given = [
    ...voices.map((voice, at) => ({ voice, at: ['voices', at] })),
    { voice: preset, at: ['default_voice'] },
  ];
  return given
    .filter(({ voice }) => !known.includes(voice))
    .map(({ voice, at }) =>
      problemLine(['models', index, 'spec', ...at], JSON.stringify(voice), `for this provider ${known.join(', ')}`),
    );
}

/** Lines of the form `path: found …, allowed: …`: one entry that serves such models for each published model. */
function checkPublishedModels({ providers, models }: ConfigurationFile, configured: ConfiguredProviders): string[] {
  const replaced = new Set(models.map(({ id }) => id));
  const owners = new Map<string, string>();
  const problems: string[] = [];
  for (const [entry, { publishedModels = {} }] of Object.entries(providers)) {
    const kind = findProvider(configured, entry)?.kind;
    for (const id of Object.keys(publishedModels)) {
      const refuse = (found: string, allowed: string) =>
        problems.push(problemLine(['providers', entry, 'publishedModels', id], found, allowed));
      const model = BUILT_IN_MODELS.find((each) => each.id === id && each.upstreamModel === undefined);
      const owner = owners.get(id);
      if (model === undefined) refuse('another id', 'the id of a published model of a service');
      else if (!kind?.serves.includes(model.kind))
        refuse(`a model of kind "${model.kind}"`, `${kind?.serves.join(', ')}`);
      else if (replaced.has(id)) refuse('a model that `models` replaces', 'a model with one entry');
      else if (owner !== undefined) refuse(`a model that providers.${owner} has already`, 'a model with one entry');
      owners.set(id, entry);
    }
  }
  return problems;
}

/**
 * Lines of the form `path: found …, allowed: …`: an alias is neither an id nor another model's alias; a replacement
 * exists.
 */
function checkNames(entries: readonly ModelEntry[]): string[] {
  const ids = new Set([...BUILT_IN_MODELS, ...entries].map((model) => model.id));
  const owners = new Map<string, number>();
  return entries.flatMap((entry, index) => [
    ...(entry.aliases ?? []).flatMap((alias, at) => {
      const written = JSON.stringify(alias);
      const owner = owners.get(alias);
      owners.set(alias, index);
      if (ids.has(alias)) return [aliasProblem(index, at, `${written}, which is the id of a model`)];
      return owner === undefined ? [] : [aliasProblem(index, at, `${written}, which models[${owner}] has already`)];
    }),
    ...checkReplacement(entry, index, ids),
  ]);
}

function aliasProblem(index: number, at: number, found: string): string {
  return problemLine(['models', index, 'aliases', at], found, 'a name that no other model has');
}

function checkReplacement(entry: ModelEntry, index: number, ids: ReadonlySet<string>): string[] {
  const named = entry.spec.deprecation?.replacementModelId;
  if (named === undefined || (ids.has(named) && named !== entry.id)) return [];
  const path = ['models', index, 'spec', 'deprecation', 'replacementModelId'];
  return [problemLine(path, JSON.stringify(named), 'the id of another model of the catalogue')];
}

/** Lines of the form `path: found …, allowed: …`; never with a URL, which may carry a secret. */
function checkRpcNetworks(networks: ConfigurationFile['rpc']['networks']): string[] {
  return Object.entries(networks).flatMap(([slug, network]) => {
    const path = ['rpc', 'networks', slug];
    if (!RPC_NETWORKS.has(slug)) {
      return [problemLine(path, 'an unknown network', `one of ${[...RPC_NETWORKS.keys()].join(', ')}`)];
    }
    return network.endpoints.flatMap((endpoint, index) => {
      const { url, apiKeyEnv = network.apiKeyEnv } = typeof endpoint === 'string' ? { url: endpoint } : endpoint;
      if (!/\{key\}|%7Bkey%7D/i.test(url) || apiKeyEnv !== undefined) return [];
      const found = 'a URL with {key} and no apiKeyEnv';
      return [problemLine([...path, 'endpoints', index], found, 'apiKeyEnv beside it, or no {key} in it')];
    });
  });
}
