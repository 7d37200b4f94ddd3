/** Embedding models (MODEL-5): prices per million tokens. All are of size XS (LIMIT-1). */
import { DEFAULT_CREATED, type EmbeddingModel } from '../model.ts';
import type { EmbeddingSpec } from '../specs.ts';
import { base, price } from './entry.ts';

interface EmbeddingRow extends Omit<EmbeddingSpec, 'pricing'> {
  id: string;
  privacy: 'private' | 'anonymized';
  in: number;
  /** Listed output price where it differs from the input price; it is never charged. */
  out?: number;
}

const ROWS: readonly EmbeddingRow[] = [
  { id: 'text-embedding-bge-en-icl', privacy: 'private', in: 0.0125 },
  { id: 'text-embedding-bge-m3', privacy: 'private', in: 0.15, out: 0.6, embeddingDimensions: 1024 },
  {
    id: 'gemini-embedding-2-preview',
    privacy: 'anonymized',
    in: 0.25,
    maxInputTokens: 2048,
    supportsCustomDimensions: true,
  },
  {
    id: 'text-embedding-multilingual-e5-large-instruct',
    privacy: 'private',
    in: 0.0125,
    maxInputTokens: 512,
  },
  { id: 'text-embedding-nemotron-embed-vl-1b-v2', privacy: 'private', in: 0.0125 },
  { id: 'text-embedding-qwen3-0-6b', privacy: 'private', in: 0.0125 },
  {
    id: 'text-embedding-qwen3-8b',
    privacy: 'private',
    in: 0.0125,
    embeddingDimensions: 4096,
    supportsCustomDimensions: true,
  },
  { id: 'text-embedding-3-large', privacy: 'anonymized', in: 0.1625, supportsCustomDimensions: true },
  { id: 'text-embedding-3-small', privacy: 'anonymized', in: 0.025, supportsCustomDimensions: true },
];

/** Online on a fresh machine; its description says that it is not a learned model. */
const LEXICAL: EmbeddingModel = {
  id: 'local-lexical-embedding',
  provider: 'local',
  upstreamModel: 'local-lexical-embedding',
  privacy: 'private',
  name: 'local-lexical-embedding',
  description: 'Words and parts of words, hashed into a vector. Finds shared words; knows nothing of their meaning.',
  modelSource: '',
  created: DEFAULT_CREATED,
  kind: 'embedding',
  type: 'embedding',
  size: 'XS',
  spec: {
    embeddingDimensions: 512,
    maxInputTokens: 8_192,
    supportsCustomDimensions: true,
    pricing: { input: price(0.01), output: price(0.01) },
  },
};

const PUBLISHED: readonly EmbeddingModel[] = ROWS.map(({ id, privacy, in: input, out, ...spec }) => ({
  ...base({ id, provider: 'openai', privacy }),
  kind: 'embedding',
  type: 'embedding',
  size: 'XS',
  spec: { ...spec, pricing: { input: price(input), output: price(out ?? input) } },
}));

export const EMBEDDING_MODELS: readonly EmbeddingModel[] = [LEXICAL, ...PUBLISHED];
