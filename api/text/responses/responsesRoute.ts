/** POST /responses (TEXT-24): the chat path in another form. */
import { FareboxError } from '../../../domain/errors.ts';
import { defineRoute } from '../../http/route.ts';
import { answerChat, DEADLINE_MS, estimateChat, MAX_BODY_BYTES } from '../chatRoute.ts';
import { RESPONSES_DESCRIPTION } from './openapi.ts';
import { responseForm } from './responseForm.ts';
import { rewriteResponses } from './rewriteResponses.ts';
import { responsesOrder } from './toChatBody.ts';

export const responsesRoute = defineRoute({
  method: 'POST',
  path: '/responses',
  access: 'buyer',
  body: {
    json: { schema: responsesOrder, maxBytes: MAX_BODY_BYTES, rewrite: rewriteResponses },
    needsModel: true,
    modelType: 'text',
  },
  estimateTokens: (body) => estimateChat(body),
  deadlineMs: DEADLINE_MS,
  describes: RESPONSES_DESCRIPTION,
  async handler(dependencies, request) {
    try {
      return await answerChat(dependencies, request, responseForm(request.body));
    } catch (error) {
      throw inOwnWords(error);
    }
  },
});

/** What chat calls these fields is not what this client sent. */
const NAMES: Readonly<Record<string, string>> = {
  messages: 'input',
  response_format: 'text.format',
  max_completion_tokens: 'max_output_tokens',
};

function inOwnWords(error: unknown): unknown {
  if (!(error instanceof FareboxError) || !error.fields) return error;
  const fields = Object.entries(error.fields).map(([name, words]) => [NAMES[name] ?? name, words] as const);
  const { code, message, internal, retryAfterSeconds } = error;
  return new FareboxError({
    ...{ code, message, fields: Object.fromEntries(fields), cause: error },
    ...(internal === undefined ? {} : { internal }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
