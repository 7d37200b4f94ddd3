/** Converts the body of POST /responses to a chat body, which is priced, held, called and billed. */
import { z } from 'zod';
import type { ChatBody } from '../chatBody.ts';
import { inputMessages, MisplacedPart } from './inputMessages.ts';
import { type ResponsesBody, responsesBody } from './responsesBody.ts';

/** Chat body with the settings of the response form. */
export interface ResponsesOrder extends ChatBody {
  /** Whether reasoning is returned encrypted by its service. */
  sealedReasoning: boolean;
}

export const responsesOrder = responsesBody.transform((body, { addIssue }): ResponsesOrder => {
  try {
    const order = toChatBody(body);
    if (order.messages.length > 0) return order;
    addIssue({ code: 'custom', path: ['input'], message: 'no message to answer' });
  } catch (error) {
    if (!(error instanceof MisplacedPart)) throw error;
    addIssue({ code: 'custom', path: error.path, message: error.message });
  }
  return z.NEVER;
});

function toChatBody(body: ResponsesBody): ResponsesOrder {
  const { text, include } = body;
  return {
    ...{ model: body.model, messages: inputMessages(body), stream: body.stream },
    ...{ temperature: body.temperature, top_p: body.top_p, max_completion_tokens: body.max_output_tokens },
    ...{ reasoning: body.reasoning, verbosity: text?.verbosity, response_format: formatOf(text?.format) },
    ...toolsOf(body),
    ...{ fallbacks: body.fallbacks, anon_user_id: body.anon_user_id },
    service_parameters: parametersOf(body),
    sealedReasoning: include?.includes('reasoning.encrypted_content') ?? false,
  };
}

type Format = NonNullable<NonNullable<ResponsesBody['text']>['format']>;

function formatOf(format: Format | null | undefined): ChatBody['response_format'] {
  if (format?.type !== 'json_schema') return format;
  const { name, schema, description, strict } = format;
  const more = { ...(description == null ? {} : { description }), ...(strict == null ? {} : { strict }) };
  return { type: 'json_schema', json_schema: { name, schema, ...more } };
}

/** A tool choice without any tool left is dropped; one by name is left for the service to refuse. */
function toolsOf({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ResponsesBody) {
  const functions = (tools ?? []).flatMap((tool) => {
    if (!('function' in tool)) return [];
    const { name, description, parameters, strict } = tool.function;
    const described = {
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parameters }),
    };
    return [{ type: 'function' as const, function: { name, ...described, strict } }];
  });
  if (functions.length === 0) return { tool_choice: typeof choice === 'object' ? choice : null };
  return { tools: functions, tool_choice: choice, parallel_tool_calls: parallel };
}

/** Search tools set the search parameters of chat. */
function parametersOf(body: ResponsesBody): ChatBody['service_parameters'] {
  const wanted = body.service_parameters;
  const has = (type: string) => body.tool_choice !== 'none' && (body.tools ?? []).some((tool) => tool.type === type);
  const searches = body.web_search === true || has('web_search');
  return {
    ...wanted,
    enable_web_search: searches && wanted.enable_web_search === 'off' ? 'on' : wanted.enable_web_search,
    enable_x_search: has('x_search'),
    ...{ strip_thinking_response: false, disable_thinking: false },
  };
}
