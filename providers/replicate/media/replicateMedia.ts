/** Synchronous images, transcripts and speech of the service's models. Sources: as in replicate.ts. */
import { stat } from 'node:fs/promises';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { failureOfOutcome, operationsOf } from '../../shared/mediaFailures.ts';
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
} from '../../shared/mediaProvider.ts';
import { garbageFailure } from '../../shared/textFailures.ts';
import { readTranscript } from '../../shared/transcripts.ts';
import { waitFor } from '../../shared/waitFor.ts';
import { addressMedia, type SentMedium, withAddresses } from '../mediaInputs.ts';
import { outputAddress, outputAddresses } from '../prediction.ts';
import { createReplicateQueue } from '../queue.ts';
import { openReplicate, orderAddress, type ReplicateAccess, type ReplicateService } from '../service.ts';
import { checkSources, editInput, generationInputs } from './imageModels.ts';
import { cutoutInput, enlargeInput, speechInput, transcriberOf } from './toolModels.ts';

/** Limit of a prediction: no client waits longer. */
const MAX_MS = 10 * 60_000;
/** Less than the service allows: an order cannot be cancelled until the reply gives its id. */
const WAIT_SECONDS = 10;
/** Longest wait until an order is accepted. */
const SUBMIT_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const OUTPUT_NAME = 'replicate-image';

export function createReplicateMedia(options: ReplicateAccess): MediaProvider {
  const service = openReplicate(options, MAX_MS);
  const operation = operationsOf(service);
  return {
    checkEdit: (edit) => checkSources(nameOf(edit), edit),
    makeImages: operation(makeImages),
    editImage: operation(editImage),
    cutOut: operation(cutOut),
    enlarge: operation(enlarge),
    transcribe: operation(transcribe),
    speak: operation(speak),
    close: () => service.api.close(),
  };
}

/** owner/name. A malformed name is refused when it is ordered. */
function nameOf({ upstreamModel }: { upstreamModel: string }): string {
  return orderAddress(upstreamModel)?.model ?? upstreamModel;
}

async function makeImages(
  service: ReplicateService,
  order: ImageOrder,
  context: MediaCallContext,
): Promise<MadeImage[]> {
  const { upstreamModel } = order;
  const works = () =>
    generationInputs(nameOf(order), order).map(
      (input) => async (signal: AbortSignal) =>
        imageUrls(await runPrediction(service, { upstreamModel, input }, signal)),
    );
  const urls = await orderedPictures(order, works, context.signal);
  return await fetchImages(service.outputs, { urls, name: OUTPUT_NAME }, context);
}

async function editImage(service: ReplicateService, edit: ImageEdit, context: MediaCallContext): Promise<MadeImage> {
  checkSources(nameOf(edit), edit);
  const files = await Promise.all(edit.images.map((image) => sent('image', image)));
  const input = editInput(nameOf(edit), edit, files);
  return await oneImage(service, { upstreamModel: edit.upstreamModel, input, files }, context);
}

async function cutOut(
  service: ReplicateService,
  { upstreamModel, image }: Cutout,
  context: MediaCallContext,
): Promise<MadeImage> {
  const file = await sent('image', image);
  const input = cutoutInput(nameOf({ upstreamModel }), file);
  return await oneImage(service, { upstreamModel, input, files: [file] }, context);
}

async function enlarge(
  service: ReplicateService,
  enlargement: Enlargement,
  context: MediaCallContext,
): Promise<MadeImage> {
  const file = await sent('image', enlargement.image);
  const input = enlargeInput(nameOf(enlargement), enlargement, file);
  return await oneImage(service, { ...enlargement, input, files: [file] }, context);
}

async function transcribe(
  service: ReplicateService,
  order: TranscriptionOrder,
  context: MediaCallContext,
): Promise<Transcript> {
  const file = await sent('audio', order.recording);
  const { write, chunks } = transcriberOf(nameOf(order));
  const { upstreamModel } = order;
  const output = await run(service, { upstreamModel, input: write(order, file), files: [file] }, context);
  return readTranscript(transcriptOf(output), chunks, order);
}

async function speak(service: ReplicateService, order: SpeechOrder, context: MediaCallContext): Promise<Speech> {
  const { upstreamModel, format } = order;
  const input = speechInput(nameOf(order), order);
  const output = await runPrediction(service, { upstreamModel, input }, context.signal);
  const named = { url: speechUrl(output), name: 'replicate-speech', format };
  return await fetchSpeech(service.outputs, named, context);
}

interface FileOrder {
  upstreamModel: string;
  input: unknown;
  files: readonly SentMedium[];
}

async function oneImage(service: ReplicateService, order: FileOrder, context: MediaCallContext): Promise<MadeImage> {
  const urls = imageUrls(await run(service, order, context));
  const [made] = await fetchImages(service.outputs, { urls: urls.slice(0, 1), name: OUTPUT_NAME }, context);
  if (made === undefined) throw garbageFailure('the output names no picture');
  return made;
}

/** Runs a prediction after replacing files by URLs. */
async function run(
  service: ReplicateService,
  { upstreamModel, input, files }: FileOrder,
  { signal }: MediaCallContext,
): Promise<unknown> {
  const addresses = await addressMedia(service.api, files, { signal });
  if (!addresses.ok) throw failureOfOutcome(addresses.outcome);
  const addressed = withAddresses(input, addresses.of);
  return await runPrediction(service, { upstreamModel, input: addressed }, signal);
}

async function runPrediction(
  service: ReplicateService,
  { upstreamModel, input }: Pick<FileOrder, 'upstreamModel' | 'input'>,
  signal: AbortSignal,
): Promise<unknown> {
  const address = orderAddress(upstreamModel);
  if (address === undefined) {
    const detail = 'upstreamModel is not owner/name or owner/name:version';
    throw new UpstreamFailure({ reason: 'no_model', detail });
  }
  const order = { ...address, input, waitSeconds: WAIT_SECONDS };
  const waiting = { signal, submitMs: SUBMIT_MS, firstPauseMs: FIRST_PAUSE_MS };
  const { output } = await waitFor(createReplicateQueue(service), order, waiting);
  return output;
}

async function sent(
  role: 'image' | 'audio',
  { path, contentType }: { path: string; contentType: string },
): Promise<SentMedium> {
  const { size: sizeBytes } = await stat(path);
  return { role, path, contentType, sizeBytes };
}

/** Throws UpstreamFailure if there is none. */
function imageUrls(output: unknown): string[] {
  const found = addressesOf(output);
  if (found.length === 0) throw garbageFailure('the output names no picture');
  return found;
}

function speechUrl(output: unknown): string {
  const found = inlineOf(output)[0] ?? outputAddress(output, 'audio');
  if (found === undefined) throw garbageFailure('the output names no recording');
  return found;
}

function addressesOf(output: unknown): string[] {
  const inline = inlineOf(output);
  return inline.length > 0 ? inline : outputAddresses(output);
}

/** A blocking creation may return small files inline, as the service's own client shows. */
function inlineOf(output: unknown): string[] {
  const all: unknown[] = Array.isArray(output) ? output : [output];
  return all.filter((each): each is string => typeof each === 'string' && each.startsWith('data:'));
}

/** Some models return text only, whole or in pieces. */
function transcriptOf(output: unknown): unknown {
  if (typeof output === 'string') return { text: output };
  const pieces = Array.isArray(output) && output.every((each) => typeof each === 'string');
  return pieces ? { text: output.join('') } : output;
}
