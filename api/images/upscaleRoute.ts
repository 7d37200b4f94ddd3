/** POST /image/upscale (IMAGE-10). */
import { type UpscaleModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { scaleWithin } from '../../domain/images/offer.ts';
import { priceOfUpscale } from '../../domain/images/price.ts';
import type { ImageFile } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute } from '../http/route.ts';
import type { NamedModel } from '../models.ts';
import { purchaseAnswer } from '../paid/purchase.ts';
import { ONE_IMAGE_FORM, ONE_IMAGE_JSON_BYTES, oneImage, SPOOLS } from './editRoutes.ts';
import {
  DEADLINE_MS,
  fileAnswer,
  finishImages,
  firstCallable,
  headersOf,
  type ImageRequest,
  type ImageWorkspace,
  imageProviderOf,
  prepareSources,
  purchaseOf,
  withWorkFolder,
} from './imagePipeline.ts';
import { IMAGE_DESCRIPTIONS } from './openapi.ts';
import { type UpscaleBody, upscaleBody, upscaleFields } from './schema.ts';
import { ANY_SIZE, type SentImage, takeImages } from './sources.ts';

/** The published model, and the local one as its fallback. */
const MODELS = ['upscaler', 'local-upscale-image'] as const;
const DEFAULT_SCALE = 2;
const DEFAULT_CREATIVITY = 0.01;
const MAX_CREATIVITY = 0.02;

export const upscaleRoute = defineRoute<'buyer', UpscaleBody>({
  method: 'POST',
  path: '/image/upscale',
  access: 'buyer',
  body: {
    json: { schema: upscaleBody, maxBytes: ONE_IMAGE_JSON_BYTES, spools: SPOOLS },
    multipart: { fields: upscaleFields, ...ONE_IMAGE_FORM },
    naming: { fields: ['model'], otherwise: MODELS[0] },
    modelType: 'upscale',
  },
  pricesMedia: true,
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.upscale,
  async handler(dependencies, request) {
    const { body, file, caller } = request;
    const image = oneImage(file ?? body.image);
    const names = body.model === undefined ? MODELS : ([body.model] as const);
    const named = firstCallable(dependencies, { names, type: 'upscale', caller });
    const { model } = named;
    if (model.kind !== 'upscale') throw invalid('model', 'Invalid model id');
    await request.admitModel(model.id);
    return await enlarge(dependencies, request, { named: { ...named, model }, image });
  },
});

async function enlarge(
  dependencies: Dependencies,
  request: ImageRequest<UpscaleBody>,
  { named, image }: { named: NamedModel<UpscaleModel>; image: SentImage },
): Promise<Answer> {
  const { model } = named;
  const maker = imageProviderOf(dependencies, model, 'enlarge');
  const { requestId, signal } = request;
  request.requireFunds();
  return await withWorkFolder(dependencies, async (folder) => {
    const workspace = { folder, signal, share: request.share };
    const sources = await request.waitFor(takeImages(dependencies, [image], { ...workspace, bounds: ANY_SIZE }));
    const [source] = sources;
    if (!source) throw invalid('image', 'Required');
    const scale = scaleWithin(request.body.scale ?? DEFAULT_SCALE, source);
    const price = priceOfUpscale(model.spec, scale);
    const remarks = [`${scale.toFixed(2)} times the size`];
    return await purchaseAnswer(dependencies, request, {
      purchase: purchaseOf(model, { price, unit: 'upscale', units: 1, requestId, remarks }),
      settles: 'at its first byte',
      work: async (noteMade) => {
        const made = await enlarged(dependencies, request, {
          maker,
          model,
          scale,
          source,
          sent: image,
          workspace,
          noteMade,
        });
        return await fileAnswer(made, headersOf(named, [made]));
      },
    });
  });
}

interface UpscaleTask {
  maker: ReturnType<typeof imageProviderOf<'enlarge'>>;
  model: UpscaleModel;
  scale: number;
  source: ImageFile;
  sent: SentImage;
  workspace: ImageWorkspace;
  noteMade(): void;
}

async function enlarged(
  dependencies: Dependencies,
  { body, caller, waitFor }: ImageRequest<UpscaleBody>,
  { maker, model, scale, source, sent, workspace, noteMade }: UpscaleTask,
) {
  const [image = source] = await waitFor(
    prepareSources(dependencies, maker, { ...workspace, sources: [source], sent: [sent] }),
  );
  const wished = body.creativity === null ? 0 : (body.creativity ?? DEFAULT_CREATIVITY);
  const creativity = Math.min(MAX_CREATIVITY, Math.max(0, wished));
  const endUser = endUserOf(caller.accountId, undefined);
  const order = { upstreamModel: upstreamNameOf(model), endUser, image, scale, creativity };
  const made = await waitFor(maker.enlarge(order, { workFolder: workspace.folder, signal: workspace.signal }));
  noteMade();
  const [file = made] = await waitFor(
    finishImages(dependencies, { provider: maker, made: [made] }, { ...workspace, format: 'png' }),
  );
  return file;
}
