/** POST /audio/voices (AUDIO-7): clones a voice from a sample. Also chooses the voice of a request for speech. */
import { randomBytes } from 'node:crypto';
import { AUDIO_FORMATS, type TtsModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { isVoiceHandle, mayBeHandle, voiceOf } from '../../domain/speech/offer.ts';
import {
  claimCloning,
  findVoice,
  hasRoomForVoice,
  keepVoice,
  MAX_VOICES,
  MAX_VOICES_PER_DAY,
} from '../../infra/postgres/clonedVoices.ts';
import type { Dependencies } from '../dependencies.ts';
import { json } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid, invalidOffer } from '../http/invalid.ts';
import { modelHeaders } from '../http/modelHeaders.ts';
import { defineRoute, type RouteRequest, type UploadedFile } from '../http/route.ts';
import { requireCallable, requireModel } from '../models.ts';
import { type Purchase, purchaseAnswer } from '../paid/purchase.ts';
import { readWithinBudget } from '../paid/readings.ts';
import { SPEECH_DESCRIPTIONS } from './openapi.ts';
import { MAX_FILE_BYTES, NO_FILE, requireFile, takeRecording } from './recording.ts';
import { DEFAULT_CLONER, type VoiceFields, voiceFields } from './schema.ts';
import { operationOf, speechError } from './upstream.ts';

const DEADLINE_MS = 120_000;
const TTL_MS = DEADLINE_MS + 120_000;
/** Models use less; longer recordings are refused. */
const MAX_SAMPLE_SECONDS = 600;
const HANDLE_BYTES = 16;
/** Models that clone for chosen accounts only (AUDIO-7). */
const NOT_FOR_EVERYBODY = new Set(['tts-minimax-speech-02-hd']);

type VoiceRequest = RouteRequest<VoiceFields, undefined, 'buyer'>;
type CloningOffer = NonNullable<TtsModel['spec']['voice_cloning']>;

export const voicesRoute = defineRoute({
  method: 'POST',
  path: '/audio/voices',
  access: 'buyer',
  body: {
    multipart: { fields: voiceFields, maxFileBytes: MAX_FILE_BYTES },
    ...{
      needsModel: true,
      modelType: 'tts',
      naming: { fields: ['model'], otherwise: DEFAULT_CLONER },
      wrongKind: NO_FILE,
    },
  },
  fixedPrice: ({ prices }) => prices.voiceCloning,
  deadlineMs: DEADLINE_MS,
  describes: SPEECH_DESCRIPTIONS.clone,
  async handler(dependencies, request: VoiceRequest) {
    const { body, caller } = request;
    const file = requireFile(request.file);
    const { model, headers } = requireModel(dependencies.core.config, body.model, 'tts');
    if (model.kind !== 'tts') throw invalid('model', 'This endpoint takes speech models only');
    const cloning = requireCloning(model);
    requireCallable(dependencies.core.config, model, caller);
    return await purchaseAnswer(dependencies, request, {
      purchase: purchaseOf(dependencies, model, request.requestId),
      settles: 'at its first byte',
      work: async () => {
        await requireRoom(dependencies, caller.accountId);
        const serviceVoice = await cloneSample(dependencies, request, { model, cloning, file });
        const id = `vv_${randomBytes(HANDLE_BYTES).toString('hex')}`;
        const voice = { id, accountId: caller.accountId, modelId: model.id, serviceVoice };
        await keepVoice(dependencies.core.sql, voice, cloning.retention_days);
        return json({ id, model: model.id }, { headers: modelHeaders(request, { model, headers }) });
      },
    });
  },
});

function purchaseOf({ core: { config } }: Dependencies, { id, provider }: TtsModel, requestId: string): Purchase {
  const price = config.prices.voiceCloning;
  const snapshot = {
    ...{ sku: `${id}-voice-clone`, modelId: id, provider, unit: 'voice', units: '1', requestId },
    ...{ pricePerUnitUsd: price.usd.toString(), notes: 'API Inference' },
  };
  return { price, snapshot, ttlMs: TTL_MS };
}

function requireCloning({ id, spec }: TtsModel): CloningOffer {
  if (spec.voice_cloning) return spec.voice_cloning;
  if (NOT_FOR_EVERYBODY.has(id)) {
    throw new FareboxError({
      code: 'forbidden',
      message: `Voices cannot be cloned for ${id} with this key.`,
    });
  }
  throw new FareboxError({
    code: 'unsupported_feature',
    message: 'Invalid request parameters',
    fields: { model: ['This model does not clone voices'] },
  });
}

async function requireRoom({ core: { sql } }: Pick<Dependencies, 'core'>, accountId: string): Promise<void> {
  if (await hasRoomForVoice(sql, accountId)) return;
  const message = `The account has ${MAX_VOICES} cloned voices already; the oldest are forgotten first.`;
  throw new FareboxError({ code: 'conflict', message });
}

/** Counts before the service gets the sample, whatever the result. Throws FareboxError `rate_limited`. */
async function claimDay({ core: { sql } }: Pick<Dependencies, 'core'>, accountId: string): Promise<void> {
  const claim = await claimCloning(sql, accountId);
  if (claim.isFree) return;
  throw new FareboxError({
    ...{ code: 'rate_limited', limitType: 'RPD', retryAfterSeconds: claim.secondsToNextDay },
    message: `Rate limit exceeded: at most ${MAX_VOICES_PER_DAY} voices cloned per account and UTC day.`,
  });
}

interface CloningSample {
  model: TtsModel;
  cloning: CloningOffer;
  file: UploadedFile;
}

/** Name of the voice at the service. The sample is removed when the call ends. */
async function cloneSample(
  dependencies: Dependencies,
  request: VoiceRequest,
  { model, cloning, file }: CloningSample,
): Promise<string> {
  const { caller, signal } = request;
  const cloneVoice = operationOf(dependencies, model, 'cloneVoice');
  const accepted = AUDIO_FORMATS.filter((format) => cloning.accepted_formats.includes(format));
  const lengths = { minSeconds: cloning.min_sample_seconds, maxSeconds: MAX_SAMPLE_SECONDS };
  const folder = await dependencies.providers.folders.create();
  try {
    const wanted = { accepted, ...lengths, folder, signal, share: request.share };
    const recording = await readWithinBudget(dependencies, caller.accountId, () =>
      takeRecording(dependencies, file, wanted),
    );
    await claimDay(dependencies, caller.accountId);
    const endUser = endUserOf(caller.accountId, undefined);
    const sample = { upstreamModel: upstreamNameOf(model), endUser, recording };
    return await request.waitFor(cloneVoice(sample, { workFolder: folder, signal }));
  } catch (error) {
    throw speechError(error, 'provider_refused');
  } finally {
    await dependencies.providers.folders.remove(folder);
  }
}

interface VoiceChoice {
  model: TtsModel;
  accountId: string;
  wished: string | undefined;
}

/** Name of the voice at the service. Throws FareboxError `invalid_request`, with the available voices. */
export async function resolveVoice(
  { core: { sql } }: Pick<Dependencies, 'core'>,
  { model, accountId, wished }: VoiceChoice,
): Promise<string | undefined> {
  if (wished === undefined || !isVoiceHandle(wished)) {
    const choice = voiceOf(model, wished);
    if (choice.ok) return choice.voice;
    throw invalidOffer(choice);
  }
  const voice = mayBeHandle(wished) ? await findVoice(sql, { id: wished, accountId }) : undefined;
  // A voice of another account gets the same answer as an unknown one.
  if (!voice) throw invalid('voice', 'There is no such cloned voice, or its time is over');
  if (voice.modelId !== model.id) throw invalid('voice', `This voice was cloned for ${voice.modelId}`);
  return voice.serviceVoice;
}
