/** Steps of an edit: POST /image/multi-edit, /image/edit and /images/edits (IMAGE-1 to IMAGE-7). */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type InpaintModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import type { Quality } from '../../domain/catalogue/specs.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { AspectRatio, ImageFormat, PixelSize } from '../../domain/images/images.ts';
import { SOURCE_PIXELS } from '../../domain/images/images.ts';
import {
  aspectRatioOf,
  chooseTier,
  usualFormat,
  wrongAspectRatio,
  wrongCount,
  wrongPrompt,
} from '../../domain/images/offer.ts';
import { ENHANCEMENT, type ImageTier, priceOfEdit } from '../../domain/images/price.ts';
import { plus } from '../../domain/text/price.ts';
import { allOrNone } from '../../infra/allOrNone.ts';
import type { ImageEdit, ImageFile, MadeImage } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { type NamedModel, requireCallable, requireModel } from '../models.ts';
import { dryRun } from '../paid/dryRun.ts';
import { purchaseAnswer } from '../paid/purchase.ts';
import { promptHeader, requireEnhancer, rewritePrompt } from './enhance.ts';
import {
  fileAnswer,
  finishImages,
  headersOf,
  type ImageRequest,
  type ImageWorkspace,
  imageProviderOf,
  prepareSources,
  purchaseOf,
  safeMode,
  tierRemarks,
  withWorkFolder,
} from './imagePipeline.ts';
import { type SentImage, takeImages } from './sources.ts';

/** Input of all three routes in one shape. */
export interface EditOrder {
  named: NamedModel<InpaintModel>;
  prompt: string;
  images: readonly SentImage[];
  aspectRatio: AspectRatio | 'auto' | undefined;
  size?: PixelSize | undefined;
  resolution: string | undefined;
  quality: Quality | undefined;
  /** Number of results. */
  count: number;
  format: ImageFormat | undefined;
  safeMode: { wished: boolean | undefined; usual: boolean };
  enhances: boolean;
  skipsThinking: boolean;
  anonUserId: string | null | undefined;
  /** A resolution that the model does not support is an error. */
  strict: boolean;
  /** Makes the answer from the results; default: the first picture itself. */
  present?(made: readonly MadeImage[], headers: Record<string, string>): Promise<Answer>;
}

export async function editImages(
  dependencies: Dependencies,
  request: ImageRequest<unknown>,
  order: EditOrder,
): Promise<Answer> {
  const { named, present = firstFile } = order;
  const tier = checkFields(named.model, order);
  const isSafe = safeMode(dependencies, named.model, order.safeMode);
  const maker = imageProviderOf(dependencies, named.model, 'editImage');
  const enhancer = order.enhances ? requireEnhancer(dependencies, request) : undefined;
  const purchase = purchaseOfEdit(named.model, { order, tier, requestId: request.requestId });
  if (request.lacksFunds) return dryRun(purchase.price);
  return await withWorkFolder(dependencies, async (folder) => {
    const workspace = { folder, signal: request.signal, share: request.share };
    const images = await request.waitFor(
      takeImages(dependencies, order.images, { ...workspace, bounds: SOURCE_PIXELS }),
    );
    const edit = toEdit(request, { named, order, images, tier, isSafe });
    maker.checkEdit?.(edit);
    return await purchaseAnswer(dependencies, request, {
      purchase,
      settles: 'at its first byte',
      work: async (noteMade) => {
        const prompt = enhancer && (await rewritePrompt(enhancer, rewritingOf(named.model, edit), request));
        const final = { ...edit, ...(prompt !== undefined && { prompt }) };
        const making = { maker, edit: final, count: order.count, sent: order.images, workspace, noteMade };
        const made = await make(dependencies, request, making);
        const headers = { ...headersOf(named, made), ...(prompt !== undefined && promptHeader(prompt)) };
        return await present(made, headers);
      },
    });
  });
}

/** Throws FareboxError `model_not_found`, `invalid_request` for `field`, `forbidden` or `model_offline`. */
export function requireEditModel(
  { core: { config } }: Dependencies,
  { caller }: ImageRequest<unknown>,
  { name, field }: { name: string; field: string },
): NamedModel<InpaintModel> {
  const named = requireModel(config, name, 'inpaint');
  const { model } = named;
  if (model.kind !== 'inpaint') throw invalid(field, 'Invalid model id');
  requireCallable(config, model, caller);
  return { ...named, model };
}

function checkFields({ spec }: InpaintModel, order: EditOrder): ImageTier {
  const { prompt, images, aspectRatio, strict } = order;
  const wrong = wrongPrompt(spec, prompt) ?? wrongCount(spec, images.length) ?? wrongAspectRatio(spec, aspectRatio);
  if (wrong) throw invalidOffer(wrong);
  const tier = chooseTier(spec, order, { strict });
  if (!tier.ok) throw invalidOffer(tier);
  return tier;
}

interface CheckedEdit {
  named: NamedModel<InpaintModel>;
  order: EditOrder;
  images: readonly ImageFile[];
  tier: ImageTier;
  isSafe: boolean;
}

function toEdit({ caller }: ImageRequest<unknown>, { named, order, images, tier, isSafe }: CheckedEdit): ImageEdit {
  const { model } = named;
  const [first] = images;
  const aspectRatio = first && aspectRatioOf(model.spec, order.aspectRatio, first);
  const isRatioInferred = order.aspectRatio === undefined || order.aspectRatio === 'auto';
  return {
    upstreamModel: upstreamNameOf(model),
    endUser: endUserOf(caller.accountId, order.anonUserId),
    prompt: order.prompt,
    images,
    ...(aspectRatio && { aspectRatio, isRatioInferred }),
    ...order.size,
    ...(tier.resolution !== undefined && { resolution: tier.resolution }),
    ...(tier.quality && { quality: tier.quality }),
    format: order.format ?? usualFormat(tier.resolution),
    safeMode: isSafe,
    skipsThinking: order.skipsThinking,
  };
}

interface PricedEdit {
  order: EditOrder;
  tier: ImageTier;
  requestId: string;
}

function purchaseOfEdit(model: InpaintModel, { order, tier, requestId }: PricedEdit) {
  const { images, enhances, count } = order;
  const edits = priceOfEdit(model.spec, { ...tier, imageCount: images.length, count });
  if (!edits) throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} has no price.` });
  const remarks = tierRemarks(tier);
  if (images.length > 1) remarks.push(`${images.length} input images`);
  if (enhances) remarks.push('prompt rewritten');
  const price = enhances ? plus(edits, ENHANCEMENT) : edits;
  return purchaseOf(model, { price, unit: 'edit', units: count, requestId, remarks });
}

const MAX_PROMPT_LENGTH = 32_768;

function rewritingOf({ spec }: InpaintModel, { prompt, images, endUser }: ImageEdit) {
  const limit = spec.constraints?.promptCharacterLimit ?? MAX_PROMPT_LENGTH;
  return { ...{ prompt, images, endUser, limit }, task: 'edit' as const };
}

interface EditTask {
  maker: ReturnType<typeof imageProviderOf<'editImage'>>;
  edit: ImageEdit;
  count: number;
  sent: readonly SentImage[];
  workspace: ImageWorkspace;
  noteMade(): void;
}

async function make(
  dependencies: Dependencies,
  { signal, waitFor }: ImageRequest<unknown>,
  { maker, edit, count, sent, workspace, noteMade }: EditTask,
): Promise<readonly MadeImage[]> {
  const images = await waitFor(prepareSources(dependencies, maker, { ...workspace, sources: edit.images, sent }));
  const editOnce = async (index: number, either: AbortSignal) => {
    const workFolder = join(workspace.folder, `edit-${index}`);
    await mkdir(workFolder);
    return await maker.editImage({ ...edit, images }, { workFolder, signal: either });
  };
  const edits = Array.from({ length: count }, (_, index) => (either: AbortSignal) => editOnce(index, either));
  const made = await waitFor(allOrNone(signal, edits));
  noteMade();
  return await waitFor(finishImages(dependencies, { provider: maker, made }, { ...workspace, format: edit.format }));
}

async function firstFile([made]: readonly MadeImage[], headers: Record<string, string>): Promise<Answer> {
  if (!made) throw new Error('no image');
  return await fileAnswer(made, headers);
}
