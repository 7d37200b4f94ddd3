/** Shared steps of all image routes: the model, the provider, the work folder, the format and the answer. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Caller } from '../../domain/caller.ts';
import type { Model, ModelType } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { type ImageFormat, SOURCE_PIXELS } from '../../domain/images/images.ts';
import type { ImageTier } from '../../domain/images/price.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { findProvider } from '../../domain/providerKind.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { ImageFile, MadeImage, MediaProvider } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { type BinaryAnswer, binary } from '../http/answer.ts';
import { headerText } from '../http/headerText.ts';
import { invalid } from '../http/invalid.ts';
import type { RouteRequest } from '../http/route.ts';
import { type NamedModel, requireCallable, requireModel } from '../models.ts';
import type { Purchase } from '../paid/purchase.ts';
import type { SentImage } from './sources.ts';

export type ImageRequest<Body> = RouteRequest<Body, unknown, 'buyer'>;

/** Time from the body to the beginning of the answer. */
export const DEADLINE_MS = 300_000;
const TTL_MS = DEADLINE_MS + 120_000;

/**
 * Finds the model by the first of these names that this key may call now; the others are its fallbacks where they are
 * in the catalogue. Throws the error about the first.
 */
export function firstCallable(
  { core: { config } }: Pick<Dependencies, 'core'>,
  { names, type, caller }: { names: readonly string[]; type: ModelType; caller: Caller },
): NamedModel {
  let failure: unknown;
  for (const [index, name] of names.entries()) {
    if (index > 0 && !config.modelCatalogue.byId.has(name)) continue;
    try {
      const named = requireModel(config, name, type);
      requireCallable(config, named.model, caller);
      return named;
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

/** Provider of the model with that operation. Throws FareboxError `model_offline`. */
export function imageProviderOf<Operation extends keyof MediaProvider>(
  { providers: { mediaProviders } }: Pick<Dependencies, 'providers'>,
  model: Model,
  operation: Operation,
): MediaProvider & Required<Pick<MediaProvider, Operation>> {
  const provider = mediaProviders.get(model.provider);
  if (provider?.[operation] === undefined) {
    throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} is offline.` });
  }
  return provider as MediaProvider & Required<Pick<MediaProvider, Operation>>;
}

/** The folder is removed when the answer begins; files that are still being sent are open by then. */
export async function withWorkFolder<T>(
  { providers: { folders } }: Pick<Dependencies, 'providers'>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await folders.create();
  try {
    return await work(folder);
  } finally {
    await folders.remove(folder);
  }
}

export interface ImageWorkspace {
  folder: string;
  signal: AbortSignal;
  share: RequestShare;
}

export interface Sources extends ImageWorkspace {
  sources: readonly ImageFile[];
  /** Original formats, in the same order. */
  sent: readonly SentImage[];
}

/** Pictures for a foreign service, in a form that every service reads. */
export async function prepareSources(
  { providers: { images } }: Pick<Dependencies, 'providers'>,
  provider: MediaProvider,
  { sources, sent, folder, signal, share }: Sources,
): Promise<readonly ImageFile[]> {
  if (provider.readsAll) return sources;
  const maxPixels = SOURCE_PIXELS.most;
  return await Promise.all(
    sources.map(({ path }, index) => {
      const field = sent[index]?.field ?? 'image';
      const input = { path, target: join(folder, `plain-${index}`), maxPixels };
      return share.inSlot('pictures', () => images.run('makePlain', input, { field, signal }), signal);
    }),
  );
}

/** Results can be a few times larger than the largest source. */
const MAX_RESULT_PIXELS = 4 * SOURCE_PIXELS.most;

export interface ImageFinish extends ImageWorkspace {
  format: ImageFormat;
  /** Written into the files. */
  note?: { software: string; description: string };
}

/** Converts the result to the requested format, without the metadata of a service. */
export async function finishImages(
  { providers: { images } }: Pick<Dependencies, 'providers'>,
  { provider, made }: { provider: MediaProvider; made: readonly MadeImage[] },
  { folder, signal, share, format, note }: ImageFinish,
): Promise<readonly MadeImage[]> {
  if (provider.readsAll && !note) return made;
  return await Promise.all(
    made.map(async (image, index) => {
      const target = join(folder, `finished-${index}`);
      const input = {
        path: image.path,
        target,
        maxPixels: MAX_RESULT_PIXELS,
        format,
        ...(note && { note }),
      };
      const done = await share.inSlot('pictures', () => images.run('finish', input, { signal }), signal);
      return { ...image, ...done };
    }),
  );
}

export async function fileAnswer(
  { path, contentType }: MadeImage,
  headers: Record<string, string>,
): Promise<BinaryAnswer> {
  const file = await open(path);
  const { size } = await file.stat();
  return binary({ stream: file.createReadStream(), contentType, sizeBytes: size }, { headers });
}

/** Headers that name the model and the findings about the result (IMAGE-11). */
export function headersOf({ model, headers }: NamedModel, made: readonly MadeImage[]): Record<string, string> {
  return {
    ...headers,
    'x-service-model-id': model.id,
    'x-service-model-name': headerText(model.name),
    'x-service-is-blurred': String(made.some(({ isBlurred }) => isBlurred === true)),
    'x-service-is-content-violation': 'false',
  };
}

export interface LineItem {
  price: LedgerPrice;
  unit: 'edit' | 'image' | 'cutout' | 'upscale';
  units: number;
  requestId: string;
  /** Further notes of the ledger entry. */
  remarks?: readonly string[];
}

export function purchaseOf(model: Model, { price, unit, units, requestId, remarks = [] }: LineItem): Purchase {
  return {
    price,
    snapshot: {
      ...{ sku: `${model.id}-image-unit`, modelId: model.id, provider: model.provider, unit, requestId },
      units: String(units),
      pricePerUnitUsd: (price.usd / BigInt(units)).toString(),
      notes: ['API Inference', ...remarks].join('; '),
    },
    ttlMs: TTL_MS,
  };
}

export function tierRemarks({ resolution, quality }: ImageTier): string[] {
  return [resolution && `resolution ${resolution}`, quality && `quality ${quality}`].filter(
    (remark) => remark !== undefined,
  );
}

/**
 * Whether adult results are blurred. Local models have no classifier: an explicit request is refused, and the default
 * is ignored.
 */
export function safeMode(
  { core: { config } }: Pick<Dependencies, 'core'>,
  model: Model,
  { wished, usual }: { wished: boolean | undefined; usual: boolean },
): boolean {
  const classifies = !findProvider(config, model.provider)?.kind.lacksClassifier;
  if (wished === true && !classifies) {
    throw invalid('safe_mode', `The model ${model.id} has no classifier: only false is supported`);
  }
  return classifies && (wished ?? usual);
}
