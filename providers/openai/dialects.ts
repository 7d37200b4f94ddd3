/** What services with OpenAI's API have not in common. */

import type { ReasoningEffort } from '../../domain/catalogue/specs.ts';
import type { OpenAiDialect, XSearchForm } from './settings.ts';
import { isOpenAiItself } from './textFeatures.ts';

export interface Dialect {
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** `top_k`, `min_p`, `repetition_penalty`, `stop_token_ids`: OpenAI answers 400 to a field that it does not know. */
  extendedSampling: boolean;
  /** Takes the role `developer`; elsewhere it is `system`. */
  developerRole: boolean;
  videoParts: boolean;
  /** Which recordings it takes; undefined: what it takes is its model's affair. */
  audioFormats: readonly string[] | undefined;
  /** Takes an earlier turn's reasoning back. */
  reasoningTurns: boolean;
  /** Tells users apart by this field. */
  userField: 'user' | 'safety_identifier';
  /** Knows `verbosity`, `prompt_cache_key`, `prompt_cache_retention` and `store`. */
  openAiFields: boolean;
  /** Thinking is turned off by an effort, or by an argument of the model's template. */
  reasoningOff: 'effort' | 'template';
  /** Its word for each of our efforts. */
  efforts: Record<Exclude<ReasoningEffort, 'none'>, string>;
  /** How a search on X is asked for: the operator's to say. Undefined: there is none. */
  xSearch?: XSearchForm | undefined;
}

const OPENAI: Dialect = {
  maxTokens: 'max_completion_tokens',
  extendedSampling: false,
  developerRole: true,
  videoParts: false,
  audioFormats: ['wav', 'mp3'],
  reasoningTurns: false,
  userField: 'safety_identifier',
  openAiFields: true,
  reasoningOff: 'effort',
  efforts: { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'xhigh' },
};

/** vLLM, llama.cpp, Ollama and their like. Their older releases know three efforts and refuse others. */
const COMPATIBLE: Dialect = {
  maxTokens: 'max_tokens',
  extendedSampling: true,
  developerRole: false,
  videoParts: true,
  audioFormats: undefined,
  reasoningTurns: true,
  userField: 'user',
  openAiFields: false,
  reasoningOff: 'template',
  efforts: { minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'high', max: 'high' },
};

/** It turns thinking off by an effort, and knows no videos. */
const OLLAMA: Dialect = { ...COMPATIBLE, reasoningOff: 'effort', videoParts: false };

const DIALECTS: Record<OpenAiDialect, Dialect> = {
  openai: OPENAI,
  compatible: COMPATIBLE,
  ollama: OLLAMA,
};

export function dialectOf(baseUrl: string, chosen?: OpenAiDialect): Dialect {
  return DIALECTS[dialectNameOf(baseUrl, chosen)];
}

/** Only OpenAI's own hosts speak its strict dialect. */
export function dialectNameOf(baseUrl: string, chosen?: OpenAiDialect): OpenAiDialect {
  return chosen ?? (isOpenAiItself(baseUrl) ? 'openai' : 'compatible');
}
