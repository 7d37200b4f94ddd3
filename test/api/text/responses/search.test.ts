/** A web search in a request and in an answer, whichever service runs it. */
import { describe, expect, it } from 'vitest';
import { responseForm } from '../../../../api/text/responses/responseForm.ts';
import { responsesOrder } from '../../../../api/text/responses/toChatBody.ts';
import type { ChatRequest } from '../../../../domain/text/chat.ts';

const CITATIONS = [
  { title: 'A', url: 'https://a.example/' },
  { title: 'B', url: 'https://b.example/' },
];
const ZERO = {
  promptTokens: 1,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  completionTokens: 1,
  reasoningTokens: 0,
};
const order = (body: object) => responsesOrder.parse({ model: 'm', input: 'Hello', ...body });

describe('the request of a search', () => {
  const tools = [{ type: 'web_search', search_context_size: 'low' }];
  it.each<[string, object, 'on' | 'off' | 'auto']>([
    ['by nothing', {}, 'off'],
    ['by its tool', { tools }, 'on'],
    ['by its flag', { web_search: true }, 'on'],
    [
      'by its parameter, which may leave it to the model',
      { tools, service_parameters: { enable_web_search: 'auto' } },
      'auto',
    ],
    ['not by a tool that may not be called', { tools, tool_choice: 'none' }, 'off'],
  ])('%s', (_name, body, wanted) => {
    const { service_parameters: parameters, tools: left, tool_choice: choice } = order(body);
    expect([parameters.enable_web_search, left, choice ?? null]).toEqual([wanted, undefined, null]);
  });

  it('on X by its tool', () => {
    expect(order({ tools: [{ type: 'x_search' }] }).service_parameters.enable_x_search).toBe(true);
  });
});

it('the results stand between the reasoning and the calls, and the marks of the text refer to them', () => {
  const text = 'One ^1^, both ^1,2^, none ^9^.';
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
  const asked: ChatRequest = {
    ...{ upstreamModel: 'm', messages: [], sampling: {}, maxTokens: 10, n: 1, endUser: '' },
  };
  const webResults = {
    ...{ kind: 'search' as const, block: '', citations: CITATIONS, remarks: [] },
    addOns: [{ kind: 'web search' as const, count: 1, price: { usd: 0n, diem: 0n } }],
  };
  const message = { content: text, reasoning_content: 'Hm.', tool_calls: [call] };
  const body = responseForm(order({})).whole({
    heading: { id: 'chatcmpl-x', created: 1, model: 'm' },
    call: { request: asked, webResults },
    completion: { choices: [{ index: 0, message, finishReason: 'stop' }], usage: ZERO },
    settled: { usage: ZERO, counted: false, cost: { usd: 0n, diem: 0n } },
  }) as { output: { type: string; content?: { annotations: object[] }[] }[] };
  expect(body.output.map(({ type }) => type)).toEqual([
    ...['reasoning', 'web_search_call', 'function_call', 'message'],
  ]);
  const mark = (found: number, start_index: number, end_index: number) => {
    return { type: 'url_citation', ...CITATIONS[found], start_index, end_index };
  };
  expect(body.output[3]?.content?.[0]?.annotations).toEqual([mark(0, 4, 7), mark(0, 14, 19), mark(1, 14, 19)]);
});
