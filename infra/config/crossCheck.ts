/** What a schema cannot say: names that must exist, ids that must differ, parts that must fit together. */
import { LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import { tellsLogprobs } from '../../domain/decisions/evaluation.ts';
import { providersOf, serves } from '../../domain/modelAccess.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { mergeProviders } from './builtInProviders.ts';
import { checkNames } from './checkNames.ts';
import { checkPayments } from './checkPayments.ts';
import { checkRpcNetworks } from './checkRpcNetworks.ts';
import { problem } from './problems.ts';
import type { ConfigurationFile } from './schema/file.ts';
import { isVoiceChanger, type ModelEntry, type VoiceChangerEntry } from './schema/models.ts';

/** Lines of the form `path: found …, allowed: …`; empty when the file agrees with itself. */
export function crossCheck(file: ConfigurationFile): string[] {
  const providers = mergeProviders(file.providers);
  const first = new Map<string, number>();
  const problems: string[] = [];
  for (const [index, entry] of file.models.entries()) {
    const earlier = first.get(entry.id);
    if (earlier === undefined) first.set(entry.id, index);
    else {
      const found = `${JSON.stringify(entry.id)}, which models[${earlier}] has already`;
      problems.push(problem(['models', index, 'id'], found, 'an id of its own'));
    }
    problems.push(...checkModel(entry, index, providers));
  }
  const { rpc, x402 } = file;
  return [
    ...problems,
    ...checkNames(file.models),
    ...checkPayments(x402.networks),
    ...checkRpcNetworks(rpc.networks),
  ];
}

function checkModel(entry: ModelEntry, index: number, providers: Record<string, ProviderSettings>): string[] {
  const problems: string[] = [];
  const provider = Object.hasOwn(providers, entry.provider) ? providers[entry.provider] : undefined;
  if (provider === undefined) {
    const names = Object.keys(providers).join(', ');
    problems.push(problem(['models', index, 'provider'], JSON.stringify(entry.provider), `one of ${names}`));
  } else if (isVoiceChanger(entry) && !serves(provider.kind, 'voice-changer')) {
    const found = `${JSON.stringify(entry.provider)}, of kind "${provider.kind}"`;
    const allowed = `for a voice changer a provider of kind ${providersOf('voice-changer').join(', ')}`;
    problems.push(problem(['models', index, 'provider'], found, allowed));
  }
  if (isVoiceChanger(entry) && provider?.kind === 'local') problems.push(...checkLocalVoices(entry, index));
  const method = entry.type === 'decision' ? entry.evaluation?.method : undefined;
  if (method === 'logprobs' && provider !== undefined && !tellsLogprobs(provider.kind)) {
    const allowed = `"sampling": a provider of kind "${provider.kind}" tells no log probabilities`;
    problems.push(problem(['models', index, 'evaluation', 'method'], JSON.stringify(method), allowed));
  }
  if (entry.spec.privacy !== undefined && entry.spec.privacy !== entry.privacy) {
    const allowed = `the same as models[${index}].privacy, or nothing`;
    problems.push(problem(['models', index, 'spec', 'privacy'], JSON.stringify(entry.spec.privacy), allowed));
  }
  return problems;
}

/** The local provider has its own voices and no others; elsewhere a voice is the foreign service's to know. */
function checkLocalVoices(entry: VoiceChangerEntry, index: number): string[] {
  const known: readonly string[] = LOCAL_VOICE_CHANGER.voices;
  const { voices = [], default_voice: preset } = entry.spec;
  const given = [
    ...voices.map((voice, at) => ({ voice, at: ['voices', at] })),
    { voice: preset, at: ['default_voice'] },
  ];
  return given
    .filter(({ voice }) => !known.includes(voice))
    .map(({ voice, at }) =>
      problem(
        ['models', index, 'spec', ...at],
        JSON.stringify(voice),
        `for this provider ${known.join(', ')}`,
      ),
    );
}
