/** Facts about a text service that follow from its settings and its address. */
import type { TextFeatures } from '../../domain/providerKind.ts';
import type { OpenAiSettings } from './settings.ts';

export function textFeatures(settings: OpenAiSettings): TextFeatures {
  const isOfXAi = () => baseUrlsOf(settings).some((baseUrl) => baseUrl !== undefined && isXAi(baseUrl));
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
  return baseUrlsOf(settings).every((baseUrl) => baseUrl !== undefined && !hides(baseUrl));
}

/** Undefined: the published address. */
function baseUrlsOf({ baseUrl, upstreams }: OpenAiSettings): (string | undefined)[] {
  return upstreams?.map((each) => each.baseUrl) ?? [baseUrl];
}

/** Whether every address is OpenAI's own, or a gateway to it, which the chosen dialect states. */
export function isOpenAi(settings: OpenAiSettings): boolean {
  if (settings.dialect === 'openai') return true;
  return baseUrlsOf(settings).every((baseUrl) => baseUrl === undefined || isOpenAiItself(baseUrl));
}

export function isOpenAiItself(baseUrl: string): boolean {
  return /^https?:\/\/(?:[^/@]*\.)?api\.openai\.com(?=[:/?#]|$)/i.test(baseUrl);
}

function isXAi(baseUrl: string): boolean {
  return /^https?:\/\/(?:[^/@]*\.)?api\.x\.ai(?=[:/?#]|$)/i.test(baseUrl);
}

/** Other services that hide the reasoning of some models, or show a summary of it. */
function isHider(baseUrl: string): boolean {
  return /^https?:\/\/(?:[^/@]*\.)?(?:googleapis\.com|openrouter\.ai|azure\.com)(?=[:/?#]|$)/i.test(baseUrl);
}
