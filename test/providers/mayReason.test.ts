/** The form of the upstream request decides whether a model may reason, not the client's `reasoning` alone. */
import { expect, it } from 'vitest';
import type { ChatRequest } from '../../domain/text/chat.ts';
import { mayReason as claudeMayReason } from '../../providers/anthropic/request.ts';
import { dialectOf } from '../../providers/openai/dialects.ts';
import { mayReason } from '../../providers/openai/request.ts';
import { chatRequest } from './chatRequest.ts';

type Reasoning = NonNullable<ChatRequest['reasoning']>;

const OFF = { enabled: false } as const;
const NONE = { enabled: true, effort: 'none' } as const;
const ON = { enabled: true, effort: 'high' } as const;

it.each<[string, Reasoning, boolean]>([
  ['claude-opus-5-5', OFF, true],
  ['claude-opus-5-5', NONE, true],
  ['claude-opus-5', OFF, false],
  ['claude-sonnet-5-5', OFF, false],
  ['claude-sonnet-5', NONE, false],
  ['claude-haiku-4-5', OFF, false],
  ['claude-haiku-4-5', ON, true],
  ['claude-sonnet-5', ON, true],
  ['claude-sonnet-5', {}, true],
  ['claude-opus-4-8', {}, false],
  ['claude-haiku-4-5', {}, false],
])('returns whether %s may reason when the request says %j: %s', (upstreamModel, reasoning, expected) => {
  expect(claudeMayReason(chatRequest({ upstreamModel, maxTokens: 4_000, reasoning }))).toBe(expected);
});

it.each<[string, Reasoning, boolean]>([
  ['https://api.openai.com/v1', OFF, false],
  ['https://api.openai.com/v1', NONE, false],
  ['https://api.openai.com/v1', {}, true],
  ['https://api.openai.com/v1', ON, true],
  ['http://vllm:8000/v1', OFF, true],
  ['http://vllm:8000/v1', NONE, true],
])('returns whether a model at %s may reason when the request says %j: %s', (baseUrl, reasoning, expected) => {
  expect(mayReason(chatRequest({ reasoning }), dialectOf(baseUrl))).toBe(expected);
});
