/** Errors for a client when the service behind a speech model failed (API-11). */
import type { AsrModel, TtsModel } from '../../domain/catalogue/model.ts';
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { MediaProvider } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { toClientError } from '../http/upstreamErrors.ts';

/** `refused`: the code for a request that the service calls invalid. */
export function speechError(error: unknown, refused: ErrorCode): unknown {
  const translated = toClientError(error);
  if (!(error instanceof UpstreamFailure) || !(translated instanceof FareboxError)) return translated;
  const code = codeOf(error, { code: translated.code, refused });
  if (code === translated.code) return translated;
  return new FareboxError({ code, message: translated.message, internal: error.message, cause: error });
}

function codeOf({ reason }: UpstreamFailure, { code, refused }: { code: ErrorCode; refused: ErrorCode }): ErrorCode {
  if (code === 'provider_failed') return 'upstream_failed';
  return reason === 'refused' ? refused : code;
}

/** Throws FareboxError `model_offline` when the provider has no such operation. */
export function operationOf<Name extends 'transcribe' | 'speak' | 'cloneVoice'>(
  { providers: { mediaProviders } }: Pick<Dependencies, 'providers'>,
  model: AsrModel | TtsModel,
  name: Name,
): NonNullable<MediaProvider[Name]> {
  const provider = mediaProviders.get(model.provider);
  const operation = provider?.[name];
  if (operation) return operation.bind(provider) as NonNullable<MediaProvider[Name]>;
  throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} is offline.` });
}
