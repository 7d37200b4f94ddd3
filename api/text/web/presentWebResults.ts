/** Search results in the answer: in a whole one (TEXT-16, TEXT-19), and at the beginning of a stream (TEXT-22). */
import type { ToolCall } from '../../../domain/text/chat.ts';
import type { ServiceParameters } from '../chatBody.ts';
import type { ChatCall } from '../chatCall.ts';
import { presentParameters } from '../present.ts';

export interface AnswerPresentation {
  call: Pick<ChatCall, 'webResults' | 'request'>;
  parameters: ServiceParameters;
}

/** Effective settings, with the results. */
export function effectiveParameters({ call, parameters }: AnswerPresentation) {
  const settings = { ...parameters };
  settings.enable_x_search = call.request.xSearch === true;
  // An encrypted request cannot be extended.
  if (call.request.e2eeHeaders) settings.include_service_system_prompt = false;
  return presentParameters(settings, call.webResults?.citations ?? []);
}

/** Undefined: not requested, or no lookup. */
export function documentsCall({ call: { webResults }, parameters }: AnswerPresentation): ToolCall | undefined {
  if (!parameters.return_search_results_as_documents) return undefined;
  if (!webResults?.addOns.some(({ count }) => count > 0)) return undefined;
  const documents = webResults.citations.map(({ title, url, content = '', date = null }, index) => ({
    ...{ id: String(index + 1), title, url, snippet: content, published_at: date },
  }));
  return {
    id: 'web_search_call',
    type: 'function',
    function: { name: 'web_search', arguments: JSON.stringify({ documents }) },
  };
}

interface ChatChoice {
  index: number;
  finish_reason: string;
  stop_reason: string | null;
  message: { tool_calls?: ToolCall[] };
}

/** The first choice with the documents as a tool call, before those of the model. */
export function withDocuments<Shown extends ChatChoice>(choices: readonly Shown[], presenting: AnswerPresentation) {
  const call = documentsCall(presenting);
  if (!call) return choices;
  return choices.map((choice) => {
    if (choice.index !== 0) return choice;
    const { message, finish_reason: finish } = choice;
    const calls = [call, ...(message.tool_calls ?? [])];
    return {
      ...choice,
      ...(finish === 'stop' ? { finish_reason: 'tool_calls', stop_reason: null } : {}),
      message: { ...message, tool_calls: calls },
    };
  });
}
