/** Errors for a client when the service behind a speech model failed (API-11). */
import type { AsrModel, TtsModel } from '../../domain/catalogue/model.ts';
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { MediaProvider } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { toClientError } from '../http/upstreamErrors.ts';

/** `refused`: the code for a request that the service calls invalid. */
export function speechError(error: unknown, refused: ErrorCode): unknown {
  const told = toClientError(error);
  if (!(error instanceof UpstreamFailure) || !(told instanceof FareboxError)) return told;
  const code = codeOf(error, { told: told.code, refused });
  if (code === told.code) return told;
  return new FareboxError({ code, message: told.message, internal: error.message, cause: error });
}

function codeOf({ reason }: UpstreamFailure, { told, refused }: { told: ErrorCode; refused: ErrorCode }): ErrorCode {
  if (told === 'provider_failed') return 'upstream_failed';
  return reason === 'refused' ? refused : told;
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
