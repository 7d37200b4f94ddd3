/** POST /responses (TEXT-24): the chat path in another form. */
import { FareboxError } from '../../../domain/errors.ts';
import type { Config } from '../../../infra/config/config.ts';
import { defineRoute } from '../../http/route.ts';
import { answerChat, DEADLINE_MS, estimateChat, MAX_BODY_BYTES } from '../chatRoute.ts';
import { asFunctionTool, isObject, ownParametersOf, splitModelName, type UncheckedBody } from '../rewriteChat.ts';
import { RESPONSES_DESCRIPTION } from './openapi.ts';
import { responseForm } from './responseForm.ts';
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

/** Names of chat fields as this client sent them. */
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

/** Brings a body of POST /responses in another shape to the published one, before the schema checks it. */
function rewriteResponses(sent: unknown, { brand }: Pick<Config, 'brand'>): unknown {
  if (!isObject(sent)) return sent;
  const body: UncheckedBody = { ...sent };
  const parameters = ownParametersOf(body, brand);
  if (parameters !== undefined) body.service_parameters = parameters;
  // Settings in the model name are for chat only (TEXT-4).
  if (typeof body.model === 'string') body.model = splitModelName(body.model).id;
  if (Array.isArray(body.input)) body.input = body.input.map(asTyped);
  if (Array.isArray(body.tools)) body.tools = body.tools.map(asNested);
  return body;
}

const PARTS: Readonly<Record<string, string>> = { text: 'input_text', image_url: 'input_image' };

/** A message without a type may have parts with the names of chat. */
function asTyped(item: unknown): unknown {
  if (!isObject(item) || Object.hasOwn(item, 'type') || !Object.hasOwn(item, 'role')) return item;
  const { content } = item;
  return { ...item, type: 'message', content: Array.isArray(content) ? content.map(asPart) : content };
}

function asPart(part: unknown): unknown {
  if (!isObject(part) || typeof part.type !== 'string' || !Object.hasOwn(PARTS, part.type)) return part;
  return { ...part, type: PARTS[part.type] };
}

/** Flat tools, as clients of this form send them. */
function asNested(tool: unknown): unknown {
  return isObject(tool) && tool.type === 'function' ? asFunctionTool(tool) : tool;
}
