/** Where a text service is reached, and with the key of which variable: what it takes for its models to be online. */
import type {
  AnthropicSettings,
  OpenAiSettings,
  ProviderSettings,
  RemoteUpstream,
} from './providerSettings.ts';

export type TextSettings = OpenAiSettings | AnthropicSettings;

/** Of an entry with several addresses each; else the one, which may be the service's own. */
export function addressesOf(settings: TextSettings): readonly Partial<RemoteUpstream>[] {
  if (settings.upstreams !== undefined) return settings.upstreams;
  return [settings.baseUrl === undefined ? {} : { baseUrl: settings.baseUrl }];
}

/** Undefined: no key is sent. A key for OpenAI goes to OpenAI only. */
export function keyVariableOf(settings: TextSettings, address: Partial<RemoteUpstream>): string | undefined {
  const named = address.apiKeyEnv ?? settings.apiKeyEnv;
  if (named !== undefined) return named;
  if (settings.kind === 'anthropic') return 'ANTHROPIC_API_KEY';
  return address.baseUrl === undefined || isOpenAiItself(address.baseUrl) ? 'OPENAI_API_KEY' : undefined;
}

export function isOpenAiItself(baseUrl: string): boolean {
  return /^https?:\/\/(?:[^/@]*\.)?api\.openai\.com(?=[:/?#]|$)/i.test(baseUrl);
}

function isXAi(baseUrl: string): boolean {
  return /^https?:\/\/(?:[^/@]*\.)?api\.x\.ai(?=[:/?#]|$)/i.test(baseUrl);
}

/** Services, beside OpenAI and xAI, that keep the reasoning of some models to themselves, or show a summary of it. */
function isHider(baseUrl: string): boolean {
  return /^https?:\/\/(?:[^/@]*\.)?(?:googleapis\.com|openrouter\.ai|azure\.com)(?=[:/?#]|$)/i.test(baseUrl);
}

export interface TextFeatures {
  xSearch: boolean;
  e2ee: boolean;
  /** Reasoning is counted beside the limit of an answer. */
  reasoningBeside: boolean;
  /** All reasoning is sent, in a field of its own. */
  showsReasoning: boolean;
}

const NO_FEATURES: TextFeatures = {
  xSearch: false,
  e2ee: false,
  reasoningBeside: false,
  showsReasoning: false,
};

/** What a model's provider can beyond answering. */
export function textFeaturesOf(
  providers: Readonly<Record<string, ProviderSettings>>,
  { provider }: { provider: string },
): TextFeatures {
  const settings = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (settings?.kind !== 'openai') return NO_FEATURES;
  const isOfXAi = () => addressesOf(settings).some(({ baseUrl }) => baseUrl !== undefined && isXAi(baseUrl));
  return {
    xSearch: settings.xSearch !== undefined,
    e2ee: settings.e2ee === true,
    reasoningBeside: settings.reasoningBeside ?? isOfXAi(),
    showsReasoning: settings.showsReasoning ?? usuallyShowsReasoning(settings),
  };
}

function usuallyShowsReasoning(settings: OpenAiSettings): boolean {
  if (settings.dialect === 'openai') return false;
  const hides = (baseUrl: string) => isOpenAiItself(baseUrl) || isXAi(baseUrl) || isHider(baseUrl);
  return addressesOf(settings).every(({ baseUrl }) => baseUrl !== undefined && !hides(baseUrl));
}
