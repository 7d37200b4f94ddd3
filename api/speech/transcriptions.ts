/** POST /audio/transcriptions (AUDIO-5): a recording in, its words out, priced by the decoded length. */
import { Readable } from 'node:stream';
import { type AsrModel, AUDIO_FORMATS, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { billedMs, priceOfRecording, recordingSnapshot } from '../../domain/speech/price.ts';
import type { RecordingFile, Transcript } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json, stream } from '../http/answer.ts';
import { endUserOf } from '../http/endUser.ts';
import { invalid } from '../http/invalid.ts';
import { modelHeaders } from '../http/modelHeaders.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import { type NamedModel, requireCallable, requireModel } from '../models.ts';
import { purchaseAnswer } from '../paid/purchase.ts';
import { readWithinBudget, sellReading } from '../paid/readings.ts';
import { SPEECH_DESCRIPTIONS } from './openapi.ts';
import { MAX_FILE_BYTES, NO_FILE, requireFile, takeRecording } from './recording.ts';
import { DEFAULT_TRANSCRIBER, type TranscriptionFields, transcriptionFields } from './schema.ts';
import { operationOf, speechError } from './upstream.ts';

/** 25 MB can hold seven hours; one request decodes, forwards and waits for no more than this. */
const MAX_SECONDS = 7_200;
const DEADLINE_MS = 300_000;
const TTL_MS = DEADLINE_MS + 120_000;

type TranscriptionRequest = RouteRequest<TranscriptionFields, undefined, 'buyer'>;

export const transcriptionsRoute = defineRoute({
  method: 'POST',
  path: '/audio/transcriptions',
  access: 'buyer',
  body: {
    multipart: {
      fields: transcriptionFields,
      maxFileBytes: MAX_FILE_BYTES,
      knownFields: Object.keys(transcriptionFields.shape),
    },
    ...{
      needsModel: true,
      modelType: 'asr',
      naming: { fields: ['model'], otherwise: DEFAULT_TRANSCRIBER },
      wrongKind: NO_FILE,
    },
  },
  deadlineMs: DEADLINE_MS,
  pricesMedia: true,
  describes: SPEECH_DESCRIPTIONS.transcribe,
  async handler(dependencies, request: TranscriptionRequest) {
    const file = requireFile(request.file);
    const named = requireTranscriber(dependencies, request);
    request.requireFunds();
    const folder = await dependencies.providers.folders.create();
    try {
      const { signal, caller, share } = request;
      const wanted = { accepted: AUDIO_FORMATS, maxSeconds: MAX_SECONDS, mayHavePictures: true };
      const recording = await readWithinBudget(dependencies, caller.accountId, () =>
        takeRecording(dependencies, file, { ...wanted, folder, signal, share }),
      );
      return await sellReading(dependencies, request, () =>
        transcribeRecording(dependencies, request, { named, recording, folder }),
      );
    } finally {
      await dependencies.providers.folders.remove(folder);
    }
  },
});

function requireTranscriber(
  { core: { config } }: Pick<Dependencies, 'core'>,
  { body, caller }: TranscriptionRequest,
): NamedModel<AsrModel> {
  const { model, headers } = requireModel(config, body.model, 'asr');
  if (model.kind !== 'asr') throw invalid('model', 'This endpoint takes transcription models only');
  requireCallable(config, model, caller);
  return { model, headers };
}

interface TranscriptionTask {
  named: NamedModel<AsrModel>;
  recording: RecordingFile;
  folder: string;
}

async function transcribeRecording(
  dependencies: Dependencies,
  request: TranscriptionRequest,
  { named, recording, folder }: TranscriptionTask,
): Promise<Answer> {
  const { model } = named;
  const { body, caller, requestId, signal } = request;
  const transcribe = operationOf(dependencies, model, 'transcribe');
  const ms = billedMs(recording.seconds);
  const order = {
    ...{ upstreamModel: upstreamNameOf(model), endUser: endUserOf(caller.accountId, undefined), recording },
    timestamps: body.timestamps,
    ...(body.language === undefined ? {} : { language: body.language }),
  };
  dependencies.providers.mediaProviders.get(model.provider)?.checkTranscription?.(order);
  return await purchaseAnswer(dependencies, request, {
    purchase: {
      price: priceOfRecording(model, ms),
      snapshot: recordingSnapshot(model, { ms, requestId }),
      ttlMs: TTL_MS,
    },
    settles: 'at its first byte',
    work: async () => {
      const asked = transcribe(order, { workFolder: folder, signal });
      const transcript = await request.waitFor(asked).catch((error: unknown) => {
        throw speechError(error, 'provider_refused');
      });
      return present(transcript, { body, ms, headers: modelHeaders(request, named) });
    },
  });
}

interface TranscriptionReply {
  body: TranscriptionFields;
  ms: number;
  headers: Record<string, string>;
}

function present(transcript: Transcript, { body, ms, headers }: TranscriptionReply): Answer {
  const { text } = transcript;
  if (body.response_format === 'text') {
    return stream(
      { stream: Readable.from([Buffer.from(text)]), contentType: 'text/plain; charset=utf-8' },
      { headers },
    );
  }
  const timestamps = body.timestamps ? timesOf(transcript) : {};
  const answer = json(
    { text, duration: ms / 1_000, ...(Object.keys(timestamps).length > 0 && { timestamps }) },
    { headers },
  );
  return { ...answer, compressible: true };
}

/** With the precision of the model. */
function timesOf({ words, segments, chars }: Transcript) {
  return {
    ...(words && { word: words.map(({ word, start, end }) => ({ word, start, end })) }),
    ...(segments && { segment: segments.map(({ text, start, end }) => ({ text, start, end })) }),
    ...(chars && { char: chars.map(({ char, start, end }) => ({ char, start, end })) }),
  };
}
