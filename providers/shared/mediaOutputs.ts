/** Downloads outputs of services and detects their type from the first bytes, never from what is declared. */
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { sniffImage } from '../../engines/media/image/sniffImage.ts';
import { audioContentType, readHead } from './audioFile.ts';
import { fetchOutput, type OutputSource } from './fetchOutput.ts';
import { abandonedFailure, allOrFirstFailure, translateMediaFailures } from './mediaFailures.ts';
import type { ImageOrder, MadeImage, MediaCallContext, Speech, SpeechFormat } from './mediaProvider.ts';
import { SPEECH_CONTAINERS } from './speechStream.ts';
import { garbageFailure, lostFailure } from './textFailures.ts';
import { pause } from './waitFor.ts';

const LIMITS = {
  /** An image of 16.7 million pixels of 32 bits, with room to spare. */
  image: { maxBytes: 100 * 1024 * 1024, timeoutMs: 60_000 },
  /** Half an hour of uncompressed sound. */
  speech: { maxBytes: 200 * 1024 * 1024, timeoutMs: 120_000 },
} as const;

/** Retrying a download is free, unlike a second order. */
const MAX_TRIES = 3;
const PAUSE_MS = 200;

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/avif']);

interface NamedOutput {
  url: string;
  /** File name in the work folder, unique within a call. */
  name: string;
}

/** Throws UpstreamFailure: `garbage` if the output can never be used, `lost` if the download failed. */
async function fetchImage(
  source: OutputSource,
  { url, name }: NamedOutput,
  context: MediaCallContext,
): Promise<MadeImage> {
  const path = join(context.workFolder, name);
  const head = await fetchTo(source, { url, path, ...LIMITS.image }, context);
  const contentType = sniffImage(head);
  if (contentType === undefined || !PICTURES.has(contentType)) throw garbageFailure('the output is no picture');
  return { path, contentType };
}

/** Returns all images, or throws the first failure and aborts the others. */
export function fetchImages(
  source: OutputSource,
  { urls, name }: { urls: readonly string[]; name: string },
  context: MediaCallContext,
): Promise<MadeImage[]> {
  const works = urls.map(
    (url, index) => (signal: AbortSignal) =>
      fetchImage(source, { url, name: `${name}-${index}` }, { ...context, signal }),
  );
  return allOrFirstFailure(works, context.signal);
}

/** The file is already open, so its name may be removed. An abort closes it if reading has not started. */
export async function fetchSpeech(
  source: OutputSource,
  { url, name, format }: NamedOutput & { format: SpeechFormat },
  context: MediaCallContext,
): Promise<Speech> {
  const path = join(context.workFolder, name);
  const head = await fetchTo(source, { url, path, ...LIMITS.speech }, context);
  const found = audioContentType(head);
  // PCM samples cannot be distinguished from noise, but a container can be from samples.
  const fits = format === 'pcm' ? !isContainer(head) : found === SPEECH_CONTAINERS[format];
  if (!fits) throw garbageFailure(`the output is ${found ?? 'no audio'} where ${format} was ordered`);
  return { bytes: readOnce(await open(path, 'r'), context.signal) };
}

function readOnce(file: FileHandle, signal: AbortSignal): AsyncIterable<Buffer> {
  const forget = () => void file.close().catch(() => undefined);
  signal.addEventListener('abort', forget, { once: true });
  return (async function* () {
    signal.removeEventListener('abort', forget);
    // The stream closes the file at the end, and when reading stops early.
    yield* file.createReadStream() as AsyncIterable<Buffer>;
  })();
}

function isContainer(head: Buffer): boolean {
  return /^(RIFF|OggS|fLaC|ID3|....ftyp|\s*[<{])/s.test(head.toString('latin1'));
}

interface OutputDownload {
  url: string;
  path: string;
  maxBytes: number;
  timeoutMs: number;
}

/** Returns the first bytes. The length of a data URL is limited by the reply that contained it. */
async function fetchTo(
  source: OutputSource,
  { url, ...target }: OutputDownload,
  context: MediaCallContext,
): Promise<Buffer> {
  if (url.startsWith('data:')) {
    await writeFile(target.path, inlineBytes(url), { flag: 'wx' });
    return await headOf(target.path);
  }
  const { signal } = context;
  let failure: UpstreamFailure | undefined;
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    if (tried > 0) await pause(PAUSE_MS * tried, signal);
    const fetched = await translateMediaFailures(signal, () => fetchOutput(source, url, { target, context }));
    if (fetched.ok) return await headOf(target.path);
    const { outcome } = fetched;
    if (signal.aborted) throw abandonedFailure(signal);
    if (outcome.status === 'refused') throw garbageFailure(outcome.detail ?? 'the output cannot be used');
    failure = lostFailure(outcome.status === 'unknown' ? outcome.detail : 'the output was not fetched');
  }
  throw failure ?? lostFailure('the output was not fetched');
}

function inlineBytes(url: string): Buffer {
  const comma = url.indexOf(',');
  if (!url.slice(0, comma).endsWith(';base64')) throw garbageFailure('the output is no file');
  return Buffer.from(url.slice(comma + 1), 'base64');
}

async function headOf(path: string): Promise<Buffer> {
  const head = await readHead(path);
  if (head.length === 0) throw garbageFailure('the output is empty');
  return head;
}

/** Returns exactly the ordered number of images from any number of works, or throws. */
export async function orderedPictures<Picture>(
  { styleReferences, count }: Pick<ImageOrder, 'styleReferences' | 'count'>,
  works: () => readonly ((signal: AbortSignal) => Promise<readonly Picture[]>)[],
  signal: AbortSignal,
): Promise<Picture[]> {
  if (styleReferences.length > 0) {
    const message = 'The model takes no style references.';
    throw new UpstreamFailure({ reason: 'refused', detail: 'not ordered: style references', message });
  }
  const pictures = (await allOrFirstFailure(works(), signal)).flat();
  if (pictures.length < count) throw garbageFailure(`${pictures.length} pictures where ${count} were ordered`);
  return pictures.slice(0, count);
}
