/** Pictures, transcripts and speech of the service's models, for a client that waits. Sources: as in replicate.ts. */
import { stat } from 'node:fs/promises';
import { allOrNone, failureOfOutcome, inMediaWords } from '../../shared/mediaFailures.ts';
import { fetchImage, fetchSpeech } from '../../shared/mediaOutputs.ts';
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
import { orderedPictures } from '../../shared/orderedPictures.ts';
import { garbage } from '../../shared/textFailures.ts';
import { readTranscript } from '../../shared/transcripts.ts';
import { addressMedia, type SentMedium, withAddresses } from '../mediaInputs.ts';
import { openReplicate, orderAddress, type ReplicateAccess, type ReplicateService } from '../service.ts';
import { checkSources, editInput, generationInputs } from './imageModels.ts';
import { imageUrls, speechUrl, transcriptOf } from './outputs.ts';
import { runPrediction } from './predicted.ts';
import { cutoutInput, enlargeInput, speechInput, transcriberOf } from './toolModels.ts';

/** No client waits for longer, so no prediction of ours runs for longer. */
const LONGEST_MS = 10 * 60_000;

export function createReplicateMedia(options: ReplicateAccess): MediaProvider {
  const service = openReplicate(options, LONGEST_MS);
  const asked =
    <Order, Result>(
      work: (service: ReplicateService, order: Order, context: MediaCallContext) => Promise<Result>,
    ) =>
    (order: Order, context: MediaCallContext) =>
      inMediaWords(context.signal, () => work(service, order, context));
  return {
    checkEdit: (edit) => checkSources(nameOf(edit), edit),
    makeImages: asked(makeImages),
    editImage: asked(editImage),
    cutOut: asked(cutOut),
    enlarge: asked(enlarge),
    transcribe: asked(transcribe),
    speak: asked(speak),
    close: () => service.api.close(),
  };
}

/** owner/name; a name of another form is refused when it is ordered. */
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
  return await fetchAll(service, await orderedPictures(order, works, context.signal), context);
}

async function editImage(
  service: ReplicateService,
  edit: ImageEdit,
  context: MediaCallContext,
): Promise<MadeImage> {
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

async function speak(
  service: ReplicateService,
  order: SpeechOrder,
  context: MediaCallContext,
): Promise<Speech> {
  const { upstreamModel, format } = order;
  const input = speechInput(nameOf(order), order);
  const output = await runPrediction(service, { upstreamModel, input }, context.signal);
  const named = { url: speechUrl(output), name: 'replicate-speech', format };
  return await fetchSpeech(sourceOf(service), named, context);
}

interface FileOrder {
  upstreamModel: string;
  input: unknown;
  files: readonly SentMedium[];
}

async function oneImage(
  service: ReplicateService,
  order: FileOrder,
  context: MediaCallContext,
): Promise<MadeImage> {
  const urls = imageUrls(await run(service, order, context));
  const [made] = await fetchAll(service, urls.slice(0, 1), context);
  if (made === undefined) throw garbage('the output names no picture');
  return made;
}

/** With the files under addresses that the service can read. */
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

async function fetchAll(
  service: ReplicateService,
  urls: readonly string[],
  context: MediaCallContext,
): Promise<MadeImage[]> {
  return await allOrNone(
    urls.map((url, index) => (signal: AbortSignal) => {
      const named = { url, name: `replicate-image-${index}` };
      return fetchImage(sourceOf(service), named, { ...context, signal });
    }),
    context.signal,
  );
}

async function sent(
  role: 'image' | 'audio',
  { path, contentType }: { path: string; contentType: string },
): Promise<SentMedium> {
  const { size: sizeBytes } = await stat(path);
  return { role, path, contentType, sizeBytes };
}

function sourceOf({ api, baseUrl, guardedFetch }: ReplicateService) {
  return { http: api, baseUrl, guardedFetch };
}
