/** Steps of new images: POST /image/generate and /images/generations (IMAGE-8). */
import { type ImageModel, type Model, upstreamNameOf } from '../../domain/catalogue/model.ts';
import type { Quality } from '../../domain/catalogue/specs.ts';
import { FareboxError } from '../../domain/errors.ts';
import { sizeOf, wrongImages } from '../../domain/images/generation.ts';
import type { ImageFormat } from '../../domain/images/images.ts';
import { chooseTier } from '../../domain/images/offer.ts';
import { ENHANCEMENT, type ImageTier, priceOfImages } from '../../domain/images/price.ts';
import { plus } from '../../domain/text/price.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { ImageFile, ImageOrder, MadeImage } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { type NamedModel, requireCallable, requireModel } from '../models.ts';
import { dryRun } from '../paid/dryRun.ts';
import { purchaseAnswer } from '../paid/purchase.ts';
import { promptHeader, requireEnhancer, rewritePrompt } from './enhance.ts';
import {
  finishImages,
  headersOf,
  type ImageRequest,
  imageProviderOf,
  prepareSources,
  purchaseOf,
  safeMode,
  tierRemarks,
  withWorkFolder,
} from './imagePipeline.ts';
import { ANY_SIZE, type SentImage, takeImages } from './sources.ts';

/** Input of both routes in one shape. */
export interface GenerationOrder {
  prompt: string;
  negativePrompt?: string | undefined;
  width?: number | undefined;
  height?: number | undefined;
  aspectRatio?: string | undefined;
  resolution?: string | undefined;
  quality?: Quality | undefined;
  guidance?: number | undefined;
  steps?: number | undefined;
  seed?: number | undefined;
  count: number;
  format: ImageFormat;
  safeMode?: boolean | undefined;
  style?: string | undefined;
  references: readonly { image: SentImage; strength: number }[];
  loraStrength?: number | undefined;
  hidesWatermark: boolean;
  searchesWeb: boolean;
  skipsThinking: boolean;
  enhances: boolean;
  /** Whether the parameters are written into the files. */
  notes: boolean;
  anonUserId?: string | null | undefined;
}

/** Result, from which the route makes its answer. */
export interface GeneratedImages {
  made: readonly MadeImage[];
  headers: Record<string, string>;
  /** Milliseconds. */
  timing: { inference: number; preprocessing: number; total: number };
}

/** Generates pictures from a prompt. */
export function isGenerator(model: Model): model is ImageModel {
  return model.kind === 'image' && model.imageUse === undefined;
}

/** Throws FareboxError `model_not_found`, `invalid_request`, `forbidden` or `model_offline`. */
export function requireImageModel(
  { core: { config } }: Dependencies,
  { caller }: ImageRequest<unknown>,
  name: string,
): NamedModel<ImageModel> {
  const named = requireModel(config, name, 'image');
  const { model } = named;
  if (!isGenerator(model)) throw invalid('model', 'Invalid model id');
  requireCallable(config, model, caller);
  return { ...named, model };
}

export async function generateImages(
  dependencies: Dependencies,
  request: ImageRequest<unknown>,
  { named, order, present }: GenerationTask,
): Promise<Answer> {
  const { model } = named;
  const startedAt = performance.now();
  const tier = checkFields(model, order);
  const isSafe = safeMode(dependencies, model, { wished: order.safeMode, usual: true });
  const maker = imageProviderOf(dependencies, model, 'makeImages');
  const enhancer = order.enhances ? requireEnhancer(dependencies, request) : undefined;
  const purchase = purchaseOfImages(model, { order, tier, requestId: request.requestId });
  if (request.lacksFunds) return dryRun(purchase.price);
  return await withWorkFolder(dependencies, async (folder) => {
    const workspace = { folder, signal: request.signal, share: request.share };
    const sent = order.references.map(({ image }) => image);
    const sources = await request.waitFor(takeImages(dependencies, sent, { ...workspace, bounds: ANY_SIZE }));
    return await purchaseAnswer(dependencies, request, {
      purchase,
      settles: 'at its first byte',
      work: async (noteMade) => {
        const asked = toOrder(request, { model, order, tier, isSafe });
        const limit = model.spec.constraints?.promptCharacterLimit ?? order.prompt.length + MAX_GROWTH;
        const rewriting = { prompt: order.prompt, task: 'image' as const, images: sources, limit };
        const prompt = enhancer && (await rewritePrompt(enhancer, { ...rewriting, endUser: asked.endUser }, request));
        const images = await request.waitFor(prepareSources(dependencies, maker, { ...workspace, sources, sent }));
        const final = {
          ...asked,
          ...(prompt !== undefined && { prompt }),
          styleReferences: withStrength(order, images),
        };
        const askedAt = performance.now();
        const raw = await request.waitFor(maker.makeImages(final, { workFolder: folder, signal: request.signal }));
        const inference = performance.now() - askedAt;
        if (raw.length !== order.count) throw wrongNumber(raw.length, order.count);
        noteMade();
        const note = order.notes ? { note: noteOf(dependencies, model, final) } : {};
        const finish = { ...workspace, format: order.format, ...note };
        const made = await request.waitFor(finishImages(dependencies, { provider: maker, made: raw }, finish));
        const headers = { ...headersOf(named, made), ...(prompt !== undefined && promptHeader(prompt)) };
        const timing = {
          inference,
          preprocessing: askedAt - startedAt,
          total: performance.now() - startedAt,
        };
        return await present({ made, headers, timing });
      },
    });
  });
}

interface GenerationTask {
  named: NamedModel<ImageModel>;
  order: GenerationOrder;
  present(generated: GeneratedImages): Promise<Answer>;
}

/** Limit of a rewritten prompt for a model without a limit. */
const MAX_GROWTH = 2_000;

function checkFields({ spec }: ImageModel, order: GenerationOrder): ImageTier {
  const wrong = wrongImages(spec, { ...order, styleReferences: order.references.length });
  if (wrong) throw invalidOffer(wrong);
  const wished = { resolution: order.resolution, quality: order.quality };
  const tier = chooseTier(spec, wished, { strict: false });
  if (!tier.ok) throw invalidOffer(tier);
  return tier;
}

function purchaseOfImages(
  model: ImageModel,
  { order, tier, requestId }: { order: GenerationOrder; tier: ImageTier; requestId: string },
) {
  const { count, enhances } = order;
  const images = priceOfImages(model.spec, { ...tier, count });
  if (!images) throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} has no price.` });
  const price = enhances ? plus(images, ENHANCEMENT) : images;
  const remarks = [...tierRemarks(tier), ...(enhances ? ['prompt rewritten'] : [])];
  return purchaseOf(model, { price, unit: 'image', units: count, requestId, remarks });
}

interface CheckedGeneration {
  model: ImageModel;
  order: GenerationOrder;
  tier: ImageTier;
  isSafe: boolean;
}

/** Without the rewritten prompt and the references, which exist only after the hold. */
function toOrder({ caller }: ImageRequest<unknown>, { model, order, tier, isSafe }: CheckedGeneration): ImageOrder {
  const { spec } = model;
  const wished = {
    negativePrompt: order.negativePrompt,
    ...sizeOf(spec, order),
    aspectRatio: order.aspectRatio ?? spec.constraints?.defaultAspectRatio,
    resolution: tier.resolution,
    quality: tier.quality,
    guidance: order.guidance,
    steps: order.steps ?? spec.constraints?.steps?.default,
    seed: order.seed,
    style: order.style,
    loraStrength: order.loraStrength,
  };
  const said = Object.entries(wished).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(said) as Partial<ImageOrder>),
    upstreamModel: upstreamNameOf(model),
    endUser: endUserOf(caller.accountId, order.anonUserId),
    prompt: order.prompt,
    count: order.count,
    format: order.format,
    safeMode: isSafe,
    styleReferences: [],
    hidesWatermark: order.hidesWatermark,
    searchesWeb: order.searchesWeb && spec.supportsWebSearch === true,
    skipsThinking: order.skipsThinking,
  };
}

function withStrength({ references }: GenerationOrder, images: readonly ImageFile[]) {
  return images.map((image, index) => ({ image, strength: references[index]?.strength ?? 0.5 }));
}

function wrongNumber(count: number, ordered: number): UpstreamFailure {
  return new UpstreamFailure({ reason: 'garbage', detail: `${count} images instead of ${ordered}` });
}

/** Text that `embed_exif_metadata` writes into a file: the parameters of the picture. */
function noteOf({ core: { config } }: Dependencies, model: ImageModel, order: ImageOrder) {
  const { prompt, negativePrompt, width, height, seed, steps, guidance, style } = order;
  const made = { model: model.id, prompt, negativePrompt, width, height, seed, steps, guidance, style };
  return { software: config.brand.name, description: JSON.stringify(made) };
}
