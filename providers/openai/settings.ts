/** Settings of an entry of the kind `openai`. */
import { z } from 'zod';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import { EITHER, hasOneAddress, textService } from '../shared/settings.ts';

/** Dialect of the API: OpenAI's own, that of vLLM and llama.cpp, or Ollama's. */
const OPENAI_DIALECTS = ['openai', 'compatible', 'ollama'] as const;
export type OpenAiDialect = (typeof OPENAI_DIALECTS)[number];
/** `{"type": "x_search"}` among the tools, or `search_parameters` with X as the source. */
const X_SEARCH_FORMS = ['tool', 'search_parameters'] as const;
export type XSearchForm = (typeof X_SEARCH_FORMS)[number];

export const openAiSettings = strictObject({
  kind: z.literal('openai'),
  ...textService,
  /** Default: by the address. */
  dialect: z.enum(OPENAI_DIALECTS).exactOptional(),
  /** How a search on X is asked for; left out: the service has none. */
  xSearch: z.enum(X_SEARCH_FORMS).exactOptional(),
  reasoningBeside: z
    .boolean()
    .exactOptional()
    .describe('It counts reasoning beside the limit of an answer, so that is held for too. Default: for xAI.'),
  showsReasoning: z
    .boolean()
    .exactOptional()
    .describe(
      'It sends all reasoning of its models, in a field of its own, so that a stream that is left is billed by what came ' +
        'and not by its seconds. Default: true, but for OpenAI, xAI, Google, Azure, OpenRouter and the dialect `openai`.',
    ),
  /** True: encrypted requests are passed on with `x-client-pub-key`, `x-model-pub-key` and `x-signing-algo`. */
  e2ee: z.boolean().exactOptional(),
}).refine(hasOneAddress, EITHER);

export type OpenAiSettings = z.output<typeof openAiSettings>;
