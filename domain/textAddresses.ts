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

export interface TextFeatures {
  xSearch: boolean;
  e2ee: boolean;
  /** Reasoning is counted beside the limit of an answer. */
  reasoningBeside: boolean;
}

/** What a model's provider can beyond answering. */
export function textFeaturesOf(
  providers: Readonly<Record<string, ProviderSettings>>,
  { provider }: { provider: string },
): TextFeatures {
  const settings = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (settings?.kind !== 'openai') return { xSearch: false, e2ee: false, reasoningBeside: false };
  const isOfXAi = () => addressesOf(settings).some(({ baseUrl }) => baseUrl !== undefined && isXAi(baseUrl));
  return {
    xSearch: settings.xSearch !== undefined,
    e2ee: settings.e2ee === true,
    reasoningBeside: settings.reasoningBeside ?? isOfXAi(),
  };
}
