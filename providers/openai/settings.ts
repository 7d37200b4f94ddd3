import { z } from 'zod';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import { EITHER, hasOneAddress, textService } from '../shared/settings.ts';

/** Dialects of the API: OpenAI's own, that of vLLM and llama.cpp, and Ollama's. */
const OPENAI_DIALECTS = ['openai', 'compatible', 'ollama'] as const;
export type OpenAiDialect = (typeof OPENAI_DIALECTS)[number];
/** `tool`: `{"type": "x_search"}` among the tools; `search_parameters`: that field, with X as the source. */
const X_SEARCH_FORMS = ['tool', 'search_parameters'] as const;
export type XSearchForm = (typeof X_SEARCH_FORMS)[number];

export const openAiSettings = strictObject({
  kind: z.literal('openai'),
  ...textService,
  /** Default: derived from the address. */
  dialect: z.enum(OPENAI_DIALECTS).exactOptional(),
  /** Form of a search on X; absent: not supported. */
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
