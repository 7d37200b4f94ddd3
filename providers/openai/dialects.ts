/** Differences between services with OpenAI's API. */

import type { ReasoningEffort } from '../../domain/catalogue/specs.ts';
import type { OpenAiDialect, XSearchForm } from './settings.ts';
import { isOpenAiItself } from './textFeatures.ts';

export interface Dialect {
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** `top_k`, `min_p`, `repetition_penalty`, `stop_token_ids`: OpenAI refuses unknown fields with a 400. */
  extendedSampling: boolean;
  /** Takes the role `developer`; otherwise `system` is sent. */
  developerRole: boolean;
  videoParts: boolean;
  /** Supported recording formats; undefined: they depend on the model. */
  audioFormats: readonly string[] | undefined;
  /** Accepts the reasoning of earlier turns. */
  reasoningTurns: boolean;
  /** Field that identifies the end user. */
  userField: 'user' | 'safety_identifier';
  /** Supports `verbosity`, `prompt_cache_key`, `prompt_cache_retention` and `store`. */
  openAiFields: boolean;
  /** How reasoning is turned off: by an effort, or by an argument of the chat template. */
  reasoningOff: 'effort' | 'template';
  /** The service's name for each effort. */
  efforts: Record<Exclude<ReasoningEffort, 'none'>, string>;
  /** Form of a search on X, set by the operator. Undefined: not supported. */
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

/** vLLM, llama.cpp, Ollama and similar servers. Their older releases know three efforts and refuse others. */
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

/** Turns reasoning off by an effort, and takes no videos. */
const OLLAMA: Dialect = { ...COMPATIBLE, reasoningOff: 'effort', videoParts: false };

const DIALECTS: Record<OpenAiDialect, Dialect> = {
  openai: OPENAI,
  compatible: COMPATIBLE,
  ollama: OLLAMA,
};

export function dialectOf(baseUrl: string, chosen?: OpenAiDialect): Dialect {
  return DIALECTS[dialectNameOf(baseUrl, chosen)];
}

/** Only OpenAI's own hosts use the strict dialect. */
export function dialectNameOf(baseUrl: string, chosen?: OpenAiDialect): OpenAiDialect {
  return chosen ?? (isOpenAiItself(baseUrl) ? 'openai' : 'compatible');
}
