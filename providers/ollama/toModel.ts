/** Converts Ollama's description of a model (POST /api/show) to a catalogue model. */
import type { EmbeddingModel, ModelBase, TextModel } from '../../domain/catalogue/model.ts';
import type { Capabilities } from '../../domain/catalogue/specs.ts';
import { count, type Fields, isFields, oneLine } from '../shared/textFailures.ts';

/** Price unless the operator sets one: the machine is the operator's own. */
const FREE = { input: { usd: 0, diem: 0 }, output: { usd: 0, diem: 0 } } as const;
/** Smallest context that Ollama uses by default. */
const MIN_CONTEXT_TOKENS = 4_096;

export interface DescribedModel {
  /** Name in requests, tag included. */
  name: string;
  /** `modified_at` of the list entry; may be invalid. */
  modifiedAt: unknown;
  shown: Fields;
}

/** Undefined: the model makes neither text nor embeddings (an image model), or the description is invalid. */
export function toModel({ name, modifiedAt, shown }: DescribedModel): TextModel | EmbeddingModel | undefined {
  const info = isFields(shown.model_info) ? shown.model_info : undefined;
  if (info === undefined) return undefined;
  const details = isFields(shown.details) ? shown.details : {};
  const can = capabilitiesOf(shown, info);
  const base = baseOf(name, modifiedAt, details);
  const contextTokens = contextOf(shown, info);
  if (can.has('completion')) {
    const capabilities = featuresOf(can, details);
    const availableContextTokens = contextTokens ?? MIN_CONTEXT_TOKENS;
    return {
      ...base,
      kind: 'text',
      type: 'text',
      spec: { availableContextTokens, capabilities, pricing: FREE },
    };
  }
  if (!can.has('embedding')) return undefined;
  const dimensions = ofArchitecture(info, 'embedding_length');
  return {
    ...{ ...base, kind: 'embedding', type: 'embedding' },
    spec: {
      ...(dimensions === undefined ? {} : { embeddingDimensions: dimensions }),
      ...(contextTokens === undefined ? {} : { maxInputTokens: contextTokens }),
      pricing: FREE,
    },
  };
}

function baseOf(name: string, modifiedAt: unknown, { parameter_size: size, quantization_level: level }: Fields) {
  const facts = [oneLine(size) && `${oneLine(size)} parameters`, oneLine(level)].filter((fact) => fact !== '');
  return {
    ...{ id: name, provider: 'ollama', upstreamModel: name, privacy: 'private', name },
    description: ['A model of the Ollama that serves here', ...facts].join(', '),
    modelSource: '',
    created: secondsOf(modifiedAt),
  } satisfies ModelBase;
}

/** Returns 0 for an invalid time. */
function secondsOf(time: unknown): number {
  const milliseconds = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return milliseconds > 0 ? Math.floor(milliseconds / 1_000) : 0;
}

/** Older versions list no capabilities. Then a model that pools its tokens is for embeddings, any other for text. */
function capabilitiesOf({ capabilities }: Fields, info: Fields): ReadonlySet<unknown> {
  if (Array.isArray(capabilities)) return new Set(capabilities);
  return new Set([ofArchitecture(info, 'pooling_type') === undefined ? 'completion' : 'embedding']);
}

/** Any text model supports schemas: the server enforces them, not the model. */
function featuresOf(can: ReadonlySet<unknown>, { quantization_level: level }: Fields): Capabilities {
  return {
    supportsFunctionCalling: can.has('tools'),
    supportsVision: can.has('vision'),
    supportsAudioInput: can.has('audio'),
    supportsReasoning: can.has('thinking'),
    supportsResponseSchema: true,
    quantization: quantizationOf(level),
  };
}

const QUANTIZATIONS: readonly [RegExp, NonNullable<Capabilities['quantization']>][] = [
  [/^I?Q4_/, 'int4'],
  [/^Q8_/, 'int8'],
  [/^F16$/, 'fp16'],
  [/^BF16$/, 'bf16'],
  [/FP8/, 'fp8'],
  [/FP4/, 'fp4'],
];

function quantizationOf(level: unknown): NonNullable<Capabilities['quantization']> {
  const name = typeof level === 'string' ? level.toUpperCase() : '';
  return QUANTIZATIONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'not-available';
}

/** Context length of the model, or less if its settings limit it. */
function contextOf({ parameters }: Fields, info: Fields): number | undefined {
  const made = ofArchitecture(info, 'context_length') || undefined;
  const set = typeof parameters === 'string' ? /^num_ctx\s+(\d{1,9})\s*$/m.exec(parameters)?.[1] : undefined;
  const loaded = Number(set ?? 0);
  return loaded > 0 ? Math.min(loaded, made ?? loaded) : made;
}

/** `llama.context_length` of a model whose `general.architecture` is `llama`. */
function ofArchitecture(info: Fields, key: string): number | undefined {
  return count(info[`${String(info['general.architecture'])}.${key}`]);
}
