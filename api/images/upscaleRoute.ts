/** POST /image/upscale (IMAGE-10). */
import type { UpscaleModel } from '../../domain/catalogue/model.ts';
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
import { IMAGE_DESCRIPTIONS } from './openapi.ts';
import { type UpscaleBody, upscaleBody, upscaleFields } from './schema.ts';
import { ANY_SIZE, type SentImage, takeImages } from './sources.ts';
import {
  type Bench,
  DEADLINE_MS,
  fileAnswer,
  finished,
  firstCallable,
  headersOf,
  type ImageRequest,
  inWorkFolder,
  makerOf,
  prepared,
  saleOf,
} from './studio.ts';

/** The published one, and ours for when it is away. */
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
  const maker = makerOf(dependencies, model, 'enlarge');
  const { requestId, signal } = request;
  request.requireFunds();
  return await inWorkFolder(dependencies, async (folder) => {
    const bench = { folder, signal, share: request.share };
    const sources = await request.waitFor(takeImages(dependencies, [image], { ...bench, bounds: ANY_SIZE }));
    const [source] = sources;
    if (!source) throw invalid('image', 'Required');
    const scale = scaleWithin(request.body.scale ?? DEFAULT_SCALE, source);
    const price = priceOfUpscale(model.spec, scale);
    const remarks = [`${scale.toFixed(2)} times the size`];
    return await purchaseAnswer(dependencies, request, {
      sale: saleOf(model, { price, unit: 'upscale', units: 1, requestId, remarks }),
      settles: 'at its first byte',
      work: async (noteMade) => {
        const made = await enlarged(dependencies, request, {
          maker,
          model,
          scale,
          source,
          sent: image,
          bench,
          noteMade,
        });
        return await fileAnswer(made, headersOf(named, [made]));
      },
    });
  });
}

interface Enlarging {
  maker: ReturnType<typeof makerOf<'enlarge'>>;
  model: UpscaleModel;
  scale: number;
  source: ImageFile;
  sent: SentImage;
  bench: Bench;
  noteMade(): void;
}

async function enlarged(
  dependencies: Dependencies,
  { body, caller, waitFor }: ImageRequest<UpscaleBody>,
  { maker, model, scale, source, sent, bench, noteMade }: Enlarging,
) {
  const [image = source] = await waitFor(
    prepared(dependencies, maker, { ...bench, sources: [source], sent: [sent] }),
  );
  const wished = body.creativity === null ? 0 : (body.creativity ?? DEFAULT_CREATIVITY);
  const creativity = Math.min(MAX_CREATIVITY, Math.max(0, wished));
  const endUser = endUserOf(caller.accountId, undefined);
  const order = { upstreamModel: model.upstreamModel, endUser, image, scale, creativity };
  const made = await waitFor(maker.enlarge(order, { workFolder: bench.folder, signal: bench.signal }));
  noteMade();
  const [file = made] = await waitFor(
    finished(dependencies, { provider: maker, made: [made] }, { ...bench, format: 'png' }),
  );
  return file;
}
