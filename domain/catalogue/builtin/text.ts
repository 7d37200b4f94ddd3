/** Text models (MODEL-5): prices per million tokens. */
import { DEFAULT_CREATED, type ModelSize, type TextModel } from '../model.ts';
import type { Capabilities, CapabilityFlag, MediaTokenRates, ReasoningEffort } from '../specs.ts';
import { type BuiltInProvider, base, price } from './entry.ts';

/** Capability names of the published table. */
const FEATURES = {
  vision: 'supportsVision',
  video: 'supportsVideoInput',
  audio: 'supportsAudioInput',
  tools: 'supportsFunctionCalling',
  reasoning: 'supportsReasoning',
  schema: 'supportsResponseSchema',
  logprobs: 'supportsLogProbs',
  code: 'optimizedForCode',
  'x-search': 'supportsXSearch',
  e2ee: 'supportsE2EE',
} as const satisfies Record<string, CapabilityFlag>;

interface TextRow {
  id: string;
  provider?: BuiltInProvider;
  context: number;
  privacy?: 'anonymized';
  /** USD per million tokens. */
  price: { in: number; cached?: number; out: number };
  traits?: readonly string[];
  features: readonly (keyof typeof FEATURES)[];
  quantization?: Capabilities['quantization'];
  reasoning?: { efforts: readonly ReasoningEffort[]; default: ReasoningEffort };
  size?: ModelSize;
  /** Set where the service counts more than the defaults. */
  mediaTokens?: Partial<MediaTokenRates>;
}

/**
 * OpenAI counts 2,833 tokens per image and 5,667 per tile of 512 pixels. It scales images down to at most eight tiles,
 * at most four in a row.
 */
const MINI_PICTURES = { pixelsPerToken: 14, minPerImage: 25_501, maxPerImage: 48_169 };

const ROWS: readonly TextRow[] = [
  {
    id: 'zai-org-glm-5-2',
    context: 1_000_000,
    price: { in: 1.4, cached: 0.26, out: 4.4 },
    traits: ['default', 'function_calling_default'],
    features: ['tools', 'reasoning', 'schema', 'code'],
    quantization: 'fp8',
    reasoning: { efforts: ['none', 'high', 'max'], default: 'max' },
  },
  {
    id: 'zai-org-glm-5-1',
    context: 200_000,
    price: { in: 1.54, cached: 0.286, out: 4.84 },
    features: ['tools', 'reasoning', 'schema'],
    quantization: 'fp8',
    reasoning: { efforts: ['none', 'low', 'medium', 'high'], default: 'low' },
  },
  {
    id: 'kimi-k3',
    context: 1_000_000,
    price: { in: 3.75, cached: 0.375, out: 18.75 },
    traits: ['default_reasoning'],
    features: ['vision', 'tools', 'reasoning', 'schema', 'code'],
  },
  {
    id: 'kimi-k2-6',
    context: 256_000,
    price: { in: 0.75, cached: 0.16, out: 3.5 },
    features: ['vision', 'tools', 'reasoning', 'schema', 'code'],
    quantization: 'int4',
    reasoning: { efforts: ['none', 'low', 'medium', 'high'], default: 'high' },
  },
  {
    id: 'deepseek-v4-pro-0813',
    context: 1_000_000,
    price: { in: 1.65, cached: 0.165, out: 4.95 },
    traits: ['default_code'],
    features: ['tools', 'reasoning', 'schema', 'code'],
  },
  {
    id: 'deepseek-v3.2',
    context: 160_000,
    price: { in: 0.33, cached: 0.16, out: 0.48 },
    features: ['tools', 'reasoning', 'schema'],
    reasoning: { efforts: ['none', 'low', 'medium', 'high'], default: 'low' },
  },
  {
    // Its extended rates above 200,000 tokens are announced without figures.
    id: 'grok-4-6',
    context: 500_000,
    price: { in: 2.27, cached: 0.57, out: 6.8 },
    traits: ['most_intelligent'],
    features: ['vision', 'tools', 'reasoning', 'schema', 'x-search', 'code'],
    reasoning: { efforts: ['low', 'medium', 'high', 'xhigh'], default: 'high' },
  },
  {
    id: 'qwen-3-8-27b',
    context: 262_144,
    price: { in: 0.45, out: 3.2 },
    traits: ['default_vision'],
    features: ['vision', 'video', 'tools', 'reasoning', 'schema', 'code'],
    quantization: 'fp8',
    reasoning: { efforts: ['none', 'low', 'medium', 'xhigh'], default: 'xhigh' },
  },
  {
    id: 'venice-uncensored-1-2',
    context: 128_000,
    price: { in: 0.2, out: 0.9 },
    traits: ['most_uncensored'],
    features: ['vision', 'tools', 'schema'],
    quantization: 'fp16',
  },
  {
    id: 'llama-3.3-70b',
    context: 128_000,
    price: { in: 0.7, out: 2.8 },
    features: ['tools'],
    quantization: 'fp8',
  },
  {
    id: 'llama-3.2-3b',
    context: 128_000,
    price: { in: 0.15, out: 0.6 },
    features: ['tools'],
    quantization: 'fp16',
    size: 'XS',
  },
  {
    id: 'qwen3-235b-a22b-instruct-2507',
    context: 128_000,
    price: { in: 0.15, out: 0.75 },
    features: ['tools', 'schema'],
    quantization: 'fp8',
    size: 'L',
  },
  {
    id: 'qwen3-next-80b',
    context: 256_000,
    price: { in: 0.35, out: 1.9 },
    features: ['tools', 'schema'],
    quantization: 'fp16',
    size: 'M',
  },
  {
    id: 'qwen3-vl-235b-a22b',
    context: 128_000,
    price: { in: 0.21, cached: 0.1, out: 1.9 },
    features: ['vision', 'tools', 'schema'],
    quantization: 'fp8',
  },
  {
    id: 'mistral-small-2603',
    context: 256_000,
    price: { in: 0.1875, out: 0.75 },
    features: ['vision', 'tools', 'reasoning', 'schema', 'code'],
    quantization: 'fp8',
    reasoning: { efforts: ['none', 'high'], default: 'high' },
  },
  {
    id: 'openai-gpt-oss-120b',
    context: 128_000,
    price: { in: 0.07, out: 0.3 },
    features: ['tools', 'reasoning'],
    reasoning: { efforts: ['none', 'low', 'medium', 'high'], default: 'low' },
    size: 'L',
  },
  {
    id: 'google-gemma-3-27b-it',
    context: 198_000,
    price: { in: 0.12, out: 0.2 },
    features: ['vision', 'tools', 'schema'],
    quantization: 'fp8',
    size: 'M',
  },
  {
    id: 'gemini-3-5-flash',
    context: 1_000_000,
    privacy: 'anonymized',
    price: { in: 1.55, cached: 0.155, out: 9.45 },
    features: ['vision', 'video', 'audio', 'tools', 'reasoning', 'schema'],
    reasoning: { efforts: ['low', 'medium', 'high'], default: 'high' },
  },
  {
    id: 'claude-sonnet-5',
    provider: 'anthropic',
    context: 1_000_000,
    privacy: 'anonymized',
    price: { in: 3, cached: 0.3, out: 15 },
    features: ['vision', 'tools', 'reasoning', 'schema', 'code'],
  },
  {
    id: 'claude-opus-5',
    provider: 'anthropic',
    context: 1_000_000,
    privacy: 'anonymized',
    price: { in: 6, cached: 0.6, out: 30 },
    features: ['vision', 'tools', 'reasoning', 'schema', 'code'],
  },
  {
    id: 'openai-gpt-52',
    context: 256_000,
    privacy: 'anonymized',
    price: { in: 2.19, cached: 0.219, out: 17.5 },
    features: ['tools', 'reasoning', 'schema'],
    reasoning: { efforts: ['none', 'minimal', 'low', 'medium', 'high'], default: 'high' },
  },
  {
    id: 'openai-gpt-4o-mini-2024-07-18',
    context: 128_000,
    privacy: 'anonymized',
    price: { in: 0.1875, cached: 0.09375, out: 0.75 },
    features: ['vision', 'tools', 'schema', 'logprobs'],
    mediaTokens: MINI_PICTURES,
  },
  {
    id: 'e2ee-glm-5-1',
    context: 200_000,
    price: { in: 1.1, out: 4.15 },
    features: ['reasoning', 'e2ee'],
    quantization: 'fp8',
  },
];

/** Online on a fresh machine; its description says that it is a simulator. */
const SIMULATOR: TextModel = {
  id: 'simulator-text',
  provider: 'simulator',
  upstreamModel: 'simulator-text',
  privacy: 'private',
  name: 'simulator-text',
  description: 'A simulation: it asks no model, says so, and repeats the last message.',
  modelSource: '',
  created: DEFAULT_CREATED,
  kind: 'text',
  type: 'text',
  size: 'XS',
  spec: {
    availableContextTokens: 32_768,
    maxCompletionTokens: 4_096,
    capabilities: { supportsResponseSchema: true, supportsWebSearch: true, quantization: 'not-available' },
    pricing: { input: price(0.1), output: price(0.4), cache_input: price(0.01) },
  },
};

const PUBLISHED: readonly TextModel[] = ROWS.map((row) => ({
  ...base({ provider: 'openai', ...row, privacy: row.privacy ?? 'private' }),
  kind: 'text',
  type: 'text',
  ...(row.size === undefined ? {} : { size: row.size }),
  ...(row.mediaTokens && { mediaTokens: row.mediaTokens }),
  spec: {
    availableContextTokens: row.context,
    capabilities: capabilitiesOf(row),
    pricing: {
      input: price(row.price.in),
      output: price(row.price.out),
      ...(row.price.cached === undefined ? {} : { cache_input: price(row.price.cached) }),
    },
  },
}));

/** Every text model searches the web; a published list of efforts is what makes the effort adjustable. */
function capabilitiesOf({ features, quantization, reasoning }: TextRow): Capabilities {
  return {
    ...Object.fromEntries(features.map((feature) => [FEATURES[feature], true])),
    supportsWebSearch: true,
    quantization: quantization ?? 'not-available',
    ...(reasoning && {
      supportsReasoningEffort: true,
      reasoningEffortOptions: reasoning.efforts,
      defaultReasoningEffort: reasoning.default,
    }),
  };
}

export const TEXT_MODELS: readonly TextModel[] = [SIMULATOR, ...PUBLISHED];
