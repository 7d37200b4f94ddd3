/**
 * POST /embeddings (TEXT-27). An answer is read to its end and billed also when the client has left, because the
 * service makes it all the same.
 */

import { z } from 'zod';
import { type EmbeddingModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { COUNTED_HERE, listLines, millions, snapshotOf } from '../../domain/text/bill.ts';
import { linesOf, type PriceLine, sumOf } from '../../domain/text/price.ts';
import { countTokens } from '../../engines/text/countTokens.ts';
import { estimateTexts } from '../../engines/text/estimateInTurns.ts';
import type { EmbeddingLimits, Embeddings } from '../../providers/shared/textProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json, stream } from '../http/answer.ts';
import { compressStream } from '../http/compress.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid } from '../http/invalid.ts';
import { modelHeaders } from '../http/modelHeaders.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import { toClientError } from '../http/upstreamErrors.ts';
import { type NamedModel, requireCallable, requireModel } from '../models.ts';
import { isDryRun } from '../paid/dryRun.ts';
import { purchase } from '../paid/purchase.ts';
import { isLeftByClient } from './chatCall.ts';
import { streamEmbeddings } from './embeddingsAnswer.ts';
import { chatId, openUpstreamCall, requireRecipient, WHOLE_DRAIN_MS } from './modelCall.ts';
import { EMBEDDINGS_DESCRIPTION } from './openapi.ts';
import { presentCost } from './present.ts';

const MAX_INPUTS = 2_048;
const MAX_TOKENS = 8_192;
/** Begin and end tokens that models count with each text. */
const AROUND_INPUT = 2;
const MAX_BODY_BYTES = 35 * 1024 * 1024;
const DEADLINE_MS = 120_000;
const TTL_MS = 240_000;

const JSON_TYPE = 'application/json; charset=utf-8';

const TOKEN_ARRAYS = 'Token array inputs are not supported. Pass a string or an array of strings.';
const text = z.string({ error: TOKEN_ARRAYS }).min(1);

const embeddingsBody = z.strictObject({
  model: z.string().min(1),
  input: z.union([text, z.array(text).min(1).max(MAX_INPUTS)], { error: inputError }),
  encoding_format: z.enum(['float', 'base64']).nullable().default('float'),
  dimensions: z.int().min(1).max(65_536).nullable().optional(),
  user: z.string().nullable().optional(),
});
type EmbeddingsBody = z.output<typeof embeddingsBody>;

/** One finding of a union is enough for the message. */
function inputError({ input }: { input?: unknown }): string | undefined {
  if (!Array.isArray(input)) return undefined;
  if (input.length === 0 || input.length > MAX_INPUTS) return `1 to ${MAX_INPUTS} texts`;
  return input.some((item) => typeof item !== 'string') ? TOKEN_ARRAYS : 'texts of at least one character';
}

export const embeddingsRoute = defineRoute({
  method: 'POST',
  path: '/embeddings',
  access: 'buyer',
  body: {
    json: { schema: embeddingsBody, maxBytes: MAX_BODY_BYTES },
    needsModel: true,
    modelType: 'embedding',
  },
  estimateTokens: ({ input }) => estimateTexts(inputsOf(input)),
  deadlineMs: DEADLINE_MS,
  describes: EMBEDDINGS_DESCRIPTION,
  async handler(dependencies, request) {
    const { config } = dependencies.core;
    const named = requireModel(config, request.body.model, 'embedding');
    const { model } = named;
    if (model.kind !== 'embedding') throw invalid('model', 'This endpoint takes embedding models only');
    requireCallable(config, model, request.caller);
    return await embed(dependencies, request, { ...named, model });
  },
});

async function embed(
  dependencies: Dependencies,
  request: RouteRequest<EmbeddingsBody, unknown, 'buyer'>,
  { model, headers }: NamedModel<EmbeddingModel>,
): Promise<Answer> {
  const inputs = inputsOf(request.body.input);
  const dimensions = (model.spec.supportsCustomDimensions && request.body.dimensions) || undefined;
  refuseTooLong(inputs);
  refuseTooMany(dependencies.providers.textProviders.get(model.provider)?.embeddingLimits, {
    inputs,
    dimensions,
  });
  const estimated = (await estimateTexts(inputs)) + inputs.length * AROUND_INPUT;
  const bound = priceOf(model, estimated);
  if (isDryRun(request)) {
    const bounded = {
      model: model.id,
      cost: presentCost(bound),
      prompt_tokens: estimated,
      completion_tokens: 0,
    };
    return json({ object: 'dry_run', bounds: [bounded] });
  }
  const { found, tokens } = await paidEmbeddings(dependencies, request, {
    model,
    inputs,
    dimensions,
    bound,
  });
  await request.noteTokens(tokens).catch((error: unknown) => request.log.warn({ err: error }, 'not counted'));
  return presentEmbeddings(found, { request, model, headers, tokens });
}

interface EmbeddingsOrder {
  model: EmbeddingModel;
  inputs: string[];
  dimensions: number | undefined;
  bound: LedgerPrice;
}

async function paidEmbeddings(
  dependencies: Dependencies,
  request: RouteRequest<EmbeddingsBody, unknown, 'buyer'>,
  { model, inputs, dimensions, bound }: EmbeddingsOrder,
): Promise<{ found: Embeddings; tokens: number }> {
  const { caller, requestId } = request;
  const embed = dependencies.providers.textProviders.get(model.provider)?.embed;
  if (!embed) throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} is offline.` });
  const order = {
    ...{ upstreamModel: upstreamNameOf(model), inputs, endUser: endUserOf(caller.accountId, undefined) },
    ...(dimensions === undefined ? {} : { dimensions }),
  };
  const snapshot = snapshotOf(model, chatId(requestId));
  return await purchase(dependencies, request, {
    operationId: requestId,
    bound,
    snapshot,
    ttlMs: TTL_MS,
    async work(hold) {
      const upstreamCall = openUpstreamCall(request, { drainMs: WHOLE_DRAIN_MS });
      const startedAt = performance.now();
      const bill = async (reported?: number) => {
        const tokens = reported ?? (await countTokens(inputs.join('\n')));
        const lines = linesFor(model, tokens);
        await hold.settle(sumOf(lines), {
          ...listLines(lines),
          ...{ units: millions(tokens), promptTokens: tokens, completionTokens: 0 },
          inferenceExecutionTime: Math.round(performance.now() - startedAt),
          notes: reported === undefined ? `API Inference; ${COUNTED_HERE}` : 'API Inference',
        });
        return tokens;
      };
      try {
        const found = await request.waitFor(embed(order, { signal: upstreamCall.signal }));
        requireRecipient(request);
        return { found, tokens: await bill(found.promptTokens) };
      } catch (error) {
        if (isLeftByClient(upstreamCall, error)) await bill();
        throw toClientError(error);
      } finally {
        upstreamCall.end();
      }
    },
  });
}

interface EmbeddingsReply {
  request: RouteRequest<EmbeddingsBody, unknown, 'buyer'>;
  model: EmbeddingModel;
  headers: Record<string, string>;
  tokens: number;
}

function presentEmbeddings({ vectors }: Embeddings, { request, model, headers, tokens }: EmbeddingsReply): Answer {
  const format = request.body.encoding_format ?? 'float';
  const text = streamEmbeddings({ model: model.id, vectors, tokens, format });
  const packed = compressStream(text, request.headers['accept-encoding']);
  return stream(
    { stream: packed.stream, contentType: JSON_TYPE },
    { headers: { ...modelHeaders(request, { model, headers }), ...packed.headers } },
  );
}

function inputsOf(input: string | string[]): string[] {
  return typeof input === 'string' ? [input] : input;
}

/** Published estimate (TEXT-27): clients expect its refusals. */
function refuseTooLong(inputs: readonly string[]): void {
  const tooLong = inputs.some((input) => Math.ceil((input.length / 3.2) * 0.95) > MAX_TOKENS);
  if (!tooLong) return;
  const message = `Input text exceeds the maximum token limit of ${MAX_TOKENS} tokens`;
  throw new FareboxError({ code: 'invalid_request', message });
}

interface EmbeddingsSize {
  inputs: readonly string[];
  dimensions: number | undefined;
}

/** Refused before the hold: the price is by tokens and does not bound the numbers. */
function refuseTooMany(limits: EmbeddingLimits | undefined, { inputs, dimensions }: EmbeddingsSize): void {
  if (!limits) return;
  const { maxDimensions, maxNumbers, defaultDimensions } = limits;
  const numbers = inputs.length * (dimensions ?? defaultDimensions);
  const most = (count: number) => count.toLocaleString('en');
  if (dimensions !== undefined && dimensions > maxDimensions) {
    throw invalid('dimensions', `At most ${most(maxDimensions)} for this model`);
  }
  if (numbers > maxNumbers) {
    throw invalid('input', `At most ${most(maxNumbers)} numbers in one answer, not ${most(numbers)}`);
  }
}

function priceOf(model: EmbeddingModel, promptTokens: number): LedgerPrice {
  return sumOf(linesFor(model, promptTokens));
}

function linesFor({ spec }: EmbeddingModel, promptTokens: number): PriceLine[] {
  const pricing = { input: spec.pricing.input, output: spec.pricing.input };
  const none = { cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  return linesOf(pricing, { promptTokens, ...none });
}
