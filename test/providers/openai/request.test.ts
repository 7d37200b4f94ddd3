/** Upstream requests of each dialect, field by field. */
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest, UserPart } from '../../../domain/text/chat.ts';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { dialectOf } from '../../../providers/openai/dialects.ts';
import { toChatBody } from '../../../providers/openai/request.ts';
import { chatRequest } from '../chatRequest.ts';

const OPENAI = dialectOf('https://api.openai.com/v1');
const COMPATIBLE = dialectOf('http://vllm:8000/v1');

function both(change: Partial<ChatRequest>, stream = false) {
  const request = chatRequest(change);
  return { openai: toChatBody(request, OPENAI, stream), compatible: toChatBody(request, COMPATIBLE, stream) };
}

it('the smallest request has only the mandatory fields', () => {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  expect(both({})).toEqual({
    openai: {
      model: 'gpt-stub',
      messages,
      max_completion_tokens: 100,
      safety_identifier: 'end-user-1',
      store: false,
    },
    compatible: { model: 'gpt-stub', messages, max_tokens: 100, user: 'end-user-1' },
  });
});

const sampling = {
  temperature: 0,
  min_temp: 0.1,
  max_temp: 0.9,
  top_p: 0.5,
  min_p: 0.1,
  top_k: 4,
  frequency_penalty: 0.1,
  presence_penalty: 0.2,
  repetition_penalty: 1.1,
  seed: 7,
  stop: ['END'],
  stop_token_ids: [1, 2],
};
const common = {
  temperature: 0,
  top_p: 0.5,
  frequency_penalty: 0.1,
  presence_penalty: 0.2,
  seed: 7,
  stop: ['END'],
};
const tool = { name: 'weather', description: 'd', parameters: { type: 'object' }, strict: true };

describe('a field', () => {
  it.each<[string, Partial<ChatRequest>, object, object]>([
    [
      'sampling',
      { sampling },
      { ...common, temperature: 0.1 },
      {
        ...{ ...common, temperature: 0.5, dynatemp_range: 0.4 },
        ...{ top_k: 4, min_p: 0.1, repetition_penalty: 1.1, stop_token_ids: [1, 2] },
      },
    ],
    [
      'an upper bound of the temperature alone',
      { sampling: { max_temp: 0.6 } },
      { temperature: 0.6 },
      { temperature: 0.6 },
    ],
    [
      'bounds around the temperature',
      { sampling: { temperature: 0.7, min_temp: 0.7, max_temp: 0.7 } },
      { temperature: 0.7 },
      { temperature: 0.7 },
    ],
    ['choices', { n: 3 }, { n: 3 }, { n: 3 }],
    [
      'probabilities',
      { logprobs: { top: 2 } },
      { logprobs: true, top_logprobs: 2 },
      { logprobs: true, top_logprobs: 2 },
    ],
    ['probabilities of none', { logprobs: { top: 0 } }, { logprobs: true }, { logprobs: true }],
    [
      'tools',
      { tools: [tool], toolChoice: { name: 'weather' }, parallelToolCalls: false },
      {
        tools: [{ type: 'function', function: tool }],
        tool_choice: { type: 'function', function: { name: 'weather' } },
        parallel_tool_calls: false,
      },
      {
        tools: [{ type: 'function', function: tool }],
        tool_choice: { type: 'function', function: { name: 'weather' } },
        parallel_tool_calls: false,
      },
    ],
    ['a choice without tools', { toolChoice: 'auto' }, {}, {}],
    ['an effort', { reasoning: { effort: 'max' } }, { reasoning_effort: 'xhigh' }, { reasoning_effort: 'high' }],
    [
      'no reasoning',
      { reasoning: { enabled: false } },
      { reasoning_effort: 'none' },
      { chat_template_kwargs: { enable_thinking: false } },
    ],
    ['reasoning', { reasoning: { enabled: true } }, {}, { chat_template_kwargs: { enable_thinking: true } }],
    [
      "OpenAI's own",
      { verbosity: 'low', promptCache: { key: 'k', retentionSeconds: 86_400 } },
      { verbosity: 'low', prompt_cache_key: 'k', prompt_cache_retention: '24h' },
      {},
    ],
    ['defaults by name', { verbosity: 'auto', promptCache: {} }, {}, {}],
    ['a short cache', { promptCache: { retentionSeconds: 300 } }, { prompt_cache_retention: 'in_memory' }, {}],
    ['an hour of cache', { promptCache: { retentionSeconds: 3_600 } }, { prompt_cache_retention: 'in_memory' }, {}],
    ['a day of cache', { promptCache: { retentionSeconds: 90_000 } }, { prompt_cache_retention: '24h' }, {}],
  ])('%s', (_what, change, openai, compatible) => {
    const least = both({});
    expect(both(change)).toEqual({
      openai: { ...least.openai, ...openai },
      compatible: { ...least.compatible, ...compatible },
    });
  });

  it('requests usage in streams', () => {
    const streamed = { stream: true, stream_options: { include_usage: true } };
    expect(both({}, true)).toMatchObject({ openai: streamed, compatible: streamed });
  });
});

function user(part: UserPart): Partial<ChatRequest> {
  return { messages: [{ role: 'user', content: [part] }] };
}

describe('a message part', () => {
  const bytes = Buffer.from('bytes');
  const data = 'Ynl0ZXM=';
  it.each<[UserPart, object]>([
    [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'a' },
    ],
    [
      { type: 'image', bytes, mediaType: 'image/png', pixels: 4_096 },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
    ],
    [
      { type: 'image', bytes, mediaType: 'image/png', pixels: 4_096, detail: 'low' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}`, detail: 'low' } },
    ],
    [
      { type: 'audio', bytes, mediaType: 'audio/wav', seconds: 1 },
      { type: 'input_audio', input_audio: { data, format: 'wav' } },
    ],
    [
      { type: 'audio', bytes, mediaType: 'audio/mpeg', seconds: 1 },
      { type: 'input_audio', input_audio: { data, format: 'mp3' } },
    ],
  ])('%j', (part, expected) => {
    const { openai, compatible } = both(user(part));
    for (const { messages } of [openai, compatible]) expect(messages).toEqual([{ role: 'user', content: [expected] }]);
  });

  it('of video or of other recordings is sent where supported, and otherwise refused unsent', () => {
    const video = user({ type: 'video', bytes, mediaType: 'video/mp4', seconds: 1, audioSeconds: 0 });
    const flac = user({ type: 'audio', bytes, mediaType: 'audio/flac', seconds: 1 });
    const content = (change: Partial<ChatRequest>) => toChatBody(chatRequest(change), COMPATIBLE, false).messages;
    expect(content(video)).toMatchObject([{ content: [{ video_url: { url: `data:video/mp4;base64,${data}` } }] }]);
    expect(content(flac)).toMatchObject([{ content: [{ input_audio: { format: 'flac' } }] }]);
    for (const change of [video, flac]) {
      expect(() => toChatBody(chatRequest(change), OPENAI, false)).toThrow(UpstreamFailure);
    }
  });
});

it('keeps roles, names, calls and results of a conversation', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
  const messages: ChatMessage[] = [
    { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', content: 'Hi', name: 'ada' },
    { role: 'assistant', content: null, reasoning_content: 'hm', thought_signature: 's', tool_calls: [call] },
    { role: 'tool', content: 'rain', tool_call_id: 'c' },
  ];
  const { openai, compatible } = both({ messages });
  const turn = { role: 'assistant', content: null, tool_calls: [call] };
  const rest = { role: 'tool', content: 'rain', tool_call_id: 'c' };
  const first = { content: [{ type: 'text', text: 'Be brief.' }] };
  const hi = { role: 'user', content: 'Hi', name: 'ada' };
  expect(openai.messages).toEqual([{ role: 'developer', ...first }, hi, turn, rest]);
  expect(compatible.messages).toEqual([{ role: 'system', ...first }, hi, { ...turn, reasoning_content: 'hm' }, rest]);
});
