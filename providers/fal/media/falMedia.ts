/** Synchronous images, transcripts and speech of fal's models. Sources: as in queue.ts. */
import { stat } from 'node:fs/promises';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { allOrFirstFailure, failureOfOutcome, operationsOf } from '../../shared/mediaFailures.ts';
import { fetchImages, fetchSpeech, orderedPictures } from '../../shared/mediaOutputs.ts';
import type {
  Cutout,
  Enlargement,
  ImageEdit,
  ImageOrder,
  MadeImage,
  MediaCallContext,
  MediaProvider,
  Speech,
  SpeechOrder,
  Transcript,
  TranscriptionOrder,
  VoiceSample,
} from '../../shared/mediaProvider.ts';
import type { ServiceAccess } from '../../shared/serviceAddresses.ts';
import { garbageFailure } from '../../shared/textFailures.ts';
import { readTranscript } from '../../shared/transcripts.ts';
import { waitFor } from '../../shared/waitFor.ts';
import { createFalQueue, type FalOrder } from '../queue.ts';
import { type AnsweredImage, readImages, readSpeechUrl, readVoice } from '../replies.ts';
import { ENDPOINT, type FalService, openService } from '../service.ts';
import { upload } from '../upload.ts';
import { checkSources, editInput, generationInputs } from './imageInput.ts';
import { cloningOf, speechInput } from './speechFamilies.ts';
import { cutoutInput, enlargeInput, transcriberOf, transcriptionInput } from './toolFamilies.ts';

/** Enough for the transcript of a day of speech with word times. */
const MAX_REPLY_BYTES = 32 * 1024 * 1024;
/** Longest wait until an order is accepted. */
const SUBMIT_MS = 30_000;
const FIRST_PAUSE_MS = 100;
/** Time for which a sample serves as a voice (AUDIO-7). */
const VOICE_SECONDS = 7 * 24 * 3_600;

export function createFalMedia(options: ServiceAccess, guardedFetch: GuardedFetch): MediaProvider {
  const service = openService(options, guardedFetch, { maxReplyBytes: MAX_REPLY_BYTES });
  const operation = operationsOf(service);
  return {
    checkEdit: checkSources,
    makeImages: operation(makeImages),
    editImage: operation(editImage),
    cutOut: operation(cutOut),
    enlarge: operation(enlarge),
    transcribe: operation(transcribe),
    speak: operation(speak),
    cloneVoice: operation(cloneVoice),
    close: async () => {
      await Promise.all([service.queue.close(), service.storage.rest.close()]);
    },
  };
}

async function makeImages(service: FalService, order: ImageOrder, context: MediaCallContext): Promise<MadeImage[]> {
  const { upstreamModel: endpoint } = order;
  const works = () =>
    generationInputs(order).map(
      (input) => async (signal: AbortSignal) => readImages(await runOrder(service, { endpoint, input }, signal)),
    );
  return await fetchAll(service, await orderedPictures(order, works, context.signal), context);
}

async function editImage(service: FalService, edit: ImageEdit, context: MediaCallContext): Promise<MadeImage> {
  checkSources(edit);
  const urls = await store(service, { role: 'image', files: edit.images }, context);
  return await oneImage(service, { endpoint: edit.upstreamModel, input: editInput(edit, urls) }, context);
}

async function cutOut(
  service: FalService,
  { upstreamModel: endpoint, image }: Cutout,
  context: MediaCallContext,
): Promise<MadeImage> {
  const [url = ''] = await store(service, { role: 'image', files: [image] }, context);
  return await oneImage(service, { endpoint, input: cutoutInput(endpoint, url) }, context);
}

async function enlarge(service: FalService, enlargement: Enlargement, context: MediaCallContext): Promise<MadeImage> {
  const [url = ''] = await store(service, { role: 'image', files: [enlargement.image] }, context);
  const order = { endpoint: enlargement.upstreamModel, input: enlargeInput(enlargement, url) };
  return await oneImage(service, order, context);
}

async function transcribe(
  service: FalService,
  order: TranscriptionOrder,
  context: MediaCallContext,
): Promise<Transcript> {
  const { upstreamModel: endpoint, recording } = order;
  const [url = ''] = await store(service, { role: 'audio', files: [recording] }, context);
  const found = await runOrder(service, { endpoint, input: transcriptionInput(order, url) }, context.signal);
  return readTranscript(found, transcriberOf(endpoint).chunks, order);
}

async function speak(service: FalService, order: SpeechOrder, context: MediaCallContext): Promise<Speech> {
  const { upstreamModel: endpoint, format } = order;
  const found = await runOrder(service, { endpoint, input: speechInput(order) }, context.signal);
  const output = { url: readSpeechUrl(found), name: 'fal-speech', format };
  return await fetchSpeech(service.outputs, output, context);
}

/** Returns the URL of the sample as the voice, if the model takes a sample with every order. */
async function cloneVoice(
  service: FalService,
  { upstreamModel, recording }: VoiceSample,
  context: MediaCallContext,
): Promise<string> {
  const cloning = cloningOf(upstreamModel);
  if (cloning === undefined) {
    const message = 'The model cannot imitate a voice.';
    throw new UpstreamFailure({ reason: 'refused', detail: 'not ordered: no cloning', message });
  }
  const kept = { ...service, storage: { ...service.storage, keptSeconds: VOICE_SECONDS } };
  const [url = ''] = await store(kept, { role: 'audio', files: [recording] }, context);
  if (cloning === 'sample') return url;
  const order = { endpoint: cloning.endpoint, input: cloning.input(url, upstreamModel) };
  return readVoice(await runOrder(service, order, context.signal));
}

/** Returns the model's own output. */
async function runOrder(service: FalService, order: FalOrder, signal: AbortSignal): Promise<unknown> {
  if (!ENDPOINT.test(order.endpoint)) {
    throw new UpstreamFailure({ reason: 'no_model', detail: 'upstreamModel is no endpoint of fal' });
  }
  const queue = createFalQueue(service, { readsLogs: false });
  return await waitFor(queue, order, { signal, submitMs: SUBMIT_MS, firstPauseMs: FIRST_PAUSE_MS });
}

async function oneImage(service: FalService, order: FalOrder, context: MediaCallContext): Promise<MadeImage> {
  const images = readImages(await runOrder(service, order, context.signal));
  const [made] = await fetchAll(service, images.slice(0, 1), context);
  if (made === undefined) throw garbageFailure('the result names no picture');
  return made;
}

async function fetchAll(
  service: FalService,
  images: readonly AnsweredImage[],
  context: MediaCallContext,
): Promise<MadeImage[]> {
  const urls = images.map(({ url }) => url);
  const made = await fetchImages(service.outputs, { urls, name: 'fal-image' }, context);
  return made.map((each, index) => (images[index]?.isAdult ? { ...each, isBlurred: true } : each));
}

interface StoredFiles {
  role: 'image' | 'audio';
  files: readonly { path: string; contentType: string }[];
}

/** Uploads the files and returns their URLs in the same order. This orders nothing. */
async function store(
  { storage }: FalService,
  { role, files }: StoredFiles,
  context: MediaCallContext,
): Promise<string[]> {
  return await allOrFirstFailure(
    files.map(({ path, contentType }, index) => async (signal: AbortSignal) => {
      const { size: sizeBytes } = await stat(path);
      const answer = await upload(storage, { role, index, path, contentType, sizeBytes }, signal);
      if (!answer.ok) throw failureOfOutcome(answer.outcome);
      return answer.url;
    }),
    context.signal,
  );
}
