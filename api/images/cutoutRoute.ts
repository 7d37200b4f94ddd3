/** POST /image/background-remove (IMAGE-9). */
import { type ImageModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { priceOfImages } from '../../domain/images/price.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute, type UploadedFile } from '../http/route.ts';
import type { NamedModel } from '../models.ts';
import { dryRun } from '../paid/dryRun.ts';
import { purchaseAnswer } from '../paid/purchase.ts';
import { ONE_IMAGE_FORM, ONE_IMAGE_JSON_BYTES, oneImage, SPOOLS } from './editRoutes.ts';
import {
  DEADLINE_MS,
  fileAnswer,
  finishImages,
  firstCallable,
  headersOf,
  type ImageRequest,
  imageProviderOf,
  prepareSources,
  purchaseOf,
  withWorkFolder,
} from './imagePipeline.ts';
import { IMAGE_DESCRIPTIONS } from './openapi.ts';
import { type CutoutBody, cutoutBody, cutoutFields } from './schema.ts';
import { ANY_SIZE, type SentImage, takeImages } from './sources.ts';

/** The published model, and the local one as its fallback. */
const MODELS = ['bria-bg-remover', 'local-cutout'] as const;

export const cutoutRoute = defineRoute<'buyer', CutoutBody>({
  method: 'POST',
  path: '/image/background-remove',
  access: 'buyer',
  body: {
    json: { schema: cutoutBody, maxBytes: ONE_IMAGE_JSON_BYTES, spools: SPOOLS },
    multipart: { fields: cutoutFields, ...ONE_IMAGE_FORM },
    naming: { fields: ['model'], otherwise: MODELS[0] },
    modelType: 'image',
  },
  sells: (model) => model.kind === 'image' && model.imageUse === 'cutout',
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.cutout,
  async handler(dependencies, request) {
    const { body, file, caller } = request;
    const image = sentImage(body, file);
    const names = body.model === undefined ? MODELS : ([body.model] as const);
    const named = firstCallable(dependencies, { names, type: 'image', caller });
    const { model } = named;
    if (model.kind !== 'image' || model.imageUse !== 'cutout') throw invalid('model', 'Invalid model id');
    await request.admitModel(model.id);
    return await cutOut(dependencies, request, { named: { ...named, model }, image });
  },
});

/** Exactly one of them, and not empty. */
function sentImage({ image, image_url: url }: CutoutBody, file: UploadedFile | undefined): SentImage {
  const isBlank = (text: unknown) => text == null || (typeof text === 'string' && text.trim() === '');
  if (file) return oneImage(file);
  if (isBlank(url)) return oneImage(isBlank(image) ? undefined : image);
  if (!isBlank(image)) throw invalid('image', 'Either image or image_url, not both');
  if (!/^https?:\/\//i.test(url ?? '')) throw invalid('image_url', 'Must be an http(s) URL');
  return { field: 'image_url', source: url ?? '' };
}

async function cutOut(
  dependencies: Dependencies,
  request: ImageRequest<CutoutBody>,
  { named, image }: { named: NamedModel<ImageModel>; image: SentImage },
): Promise<Answer> {
  const { model } = named;
  const { body, caller, requestId, signal } = request;
  const maker = imageProviderOf(dependencies, model, 'cutOut');
  const price = priceOfImages(model.spec, { resolution: undefined, quality: undefined, count: 1 });
  if (!price) throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} has no price.` });
  if (request.lacksFunds) return dryRun(price);
  return await withWorkFolder(dependencies, async (folder) => {
    const workspace = { folder, signal, share: request.share };
    const sources = await request.waitFor(takeImages(dependencies, [image], { ...workspace, bounds: ANY_SIZE }));
    return await purchaseAnswer(dependencies, request, {
      purchase: purchaseOf(model, { price, unit: 'cutout', units: 1, requestId }),
      settles: 'at its first byte',
      work: async (noteMade) => {
        const [plain = sources[0]] = await request.waitFor(
          prepareSources(dependencies, maker, { ...workspace, sources, sent: [image] }),
        );
        if (!plain) throw invalid('image', 'Required');
        const endUser = endUserOf(caller.accountId, body.anon_user_id);
        const order = { upstreamModel: upstreamNameOf(model), endUser, image: plain };
        const cut = await request.waitFor(maker.cutOut(order, { workFolder: folder, signal }));
        noteMade();
        const made = await finishImages(
          dependencies,
          { provider: maker, made: [cut] },
          { ...workspace, format: 'png' },
        );
        return await fileAnswer(made[0] ?? cut, headersOf(named, made));
      },
    });
  });
}
