/** Images, recordings, videos and files in messages, as bytes: a provider never gets the URL of a user (FETCH-7). */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import type { ImagePart, MediaPart, TextPart, UserPart } from '../../domain/text/chat.ts';
import { type ImageSize, imageSize } from '../../engines/media/image/imageSize.ts';
import { sniffImage } from '../../engines/media/image/sniffImage.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import type { Dependencies } from '../dependencies.ts';
import { fromBase64, isDataUrl, readDataUrl } from '../http/dataUrl.ts';
import { invalid } from '../http/invalid.ts';
import type { RouteRequest } from '../http/route.ts';
import { readWithinBudget } from '../paid/readings.ts';
import type { ChatBody, SentPart } from './chatBody.ts';
import { measureChatAudio, measureChatVideo } from './measureChatMedia.ts';

type PartOfType<Type extends SentPart['type']> = Extract<SentPart, { type: Type }>;
type MediaTools = Pick<Dependencies, 'core' | 'limits' | 'providers'>;
type MediaRequest = Pick<
  RouteRequest<ChatBody, unknown, 'buyer'>,
  'body' | 'caller' | 'signal' | 'requireFunds' | 'share'
>;

interface MediaReading extends MediaTools {
  accountId: string;
  signal: AbortSignal;
  share: RequestShare;
  /** Memory of the fetched media. */
  reservedBytes: ReservedBytes;
  /** By URL: a conversation repeats the same picture. */
  fetched: Map<string, Promise<MediaSource>>;
  /** Total size of all parts so far. */
  totalBytes: number;
}

interface MediaSource {
  bytes: Buffer;
  type: string | undefined;
}

const MEGABYTE = 1024 * 1024;
const MAX_BYTES = 25 * MEGABYTE;
/** Limits of a request: distinct addresses, and the total size of its media and of the texts of its documents. */
const MAX_FETCHED = 40;
const MAX_TOTAL_BYTES = 100 * MEGABYTE;
const FETCH_TIMEOUT_MS = 30_000;
/** Maximum numbers in a message (TEXT-10). */
const MOST = { image_url: 10, input_audio: 5, video_url: 3, file: 5 } as const;
/** Limits of a request, by type: each is decoded or parsed in a child process. */
const MAX_READ = { input_audio: 100, video_url: 3, file: 40 } as const;
/** Pixels (TEXT-10). */
const MIN_SIDE = 64;
/** Limit of decoders: 16,383 × 16,383. */
const MAX_PIXELS = 268_402_689;
const VIDEO_TYPES = ['video/mp4', 'video/mpeg', 'video/quicktime', 'video/mov', 'video/webm'];
/** Media of one request that are fetched and read concurrently. */
const AT_ONCE = 4;

/**
 * Returns the content of each part that is not text. Throws FareboxError `invalid_source`, `invalid_media`,
 * `invalid_document` and the like, and `unavailable` when the process holds too many bytes already.
 */
export async function fetchMedia(
  { core, limits, providers }: MediaTools,
  request: MediaRequest,
  reservedBytes: ReservedBytes,
): Promise<(part: object) => UserPart | undefined> {
  const parts = partsOf(request.body);
  // Most requests are texts only, and need no signal and no share of memory.
  if (parts.length === 0) return () => undefined;
  request.requireFunds();
  const { caller, signal, share } = request;
  const found = new Map<object, UserPart>();
  const reading: MediaReading = {
    ...{ core, limits, providers, signal, share, reservedBytes },
    ...{ accountId: caller.accountId, fetched: new Map(), totalBytes: 0 },
  };
  for (let from = 0; from < parts.length; from += AT_ONCE) {
    const some = parts.slice(from, from + AT_ONCE);
    const read = await Promise.all(some.map((part) => toPart(reading, part)));
    for (const [index, part] of some.entries()) found.set(part, read[index] as UserPart);
  }
  return (part) => found.get(part);
}

type Medium = Exclude<SentPart, { type: 'text' }>;

/**
 * Whether a body has documents, recordings or videos, which need a child process; the size of a picture is read from
 * its header.
 */
export function needsReading({ messages }: ChatBody): boolean {
  return messages.some((message) => mediaOf(message).some(({ type }) => type !== 'image_url'));
}

const NO_MEDIA: readonly Medium[] = [];

function mediaOf({ role, content }: ChatBody['messages'][number]): readonly Medium[] {
  if (role !== 'user' || typeof content === 'string') return NO_MEDIA;
  return content.filter((part): part is Medium => part.type !== 'text');
}

function partsOf({ messages }: ChatBody): Medium[] {
  const all: Medium[] = [];
  for (const message of messages) {
    const parts = mediaOf(message);
    if (parts.length === 0) continue;
    for (const [type, most] of Object.entries(MOST)) {
      const count = parts.filter((part) => part.type === type).length;
      if (count > most) throw invalid('messages', `at most ${most} ${type} parts in a message`);
    }
    all.push(...parts);
  }
  for (const [type, most] of Object.entries(MAX_READ)) {
    const count = all.filter((part) => part.type === type).length;
    if (count > most) throw invalid('messages', `at most ${most} ${type} parts in a request`);
  }
  const fetched = all.map(urlOf).filter((url) => url !== undefined && !isDataUrl(url));
  if (new Set(fetched).size > MAX_FETCHED) {
    throw invalid('messages', `at most ${MAX_FETCHED} media to be fetched in a request`);
  }
  return all;
}

function urlOf(part: Medium): string | undefined {
  switch (part.type) {
    case 'image_url':
      return part.image_url.url;
    case 'video_url':
      return part.video_url.url;
    case 'file':
      return part.file.file_data;
    case 'input_audio':
      return undefined;
  }
}

async function toPart(reading: MediaReading, part: Medium): Promise<UserPart> {
  const cached = part.cache_control === undefined ? {} : { cache_control: part.cache_control };
  switch (part.type) {
    case 'image_url':
      return { ...(await image(reading, part)), ...cached };
    case 'input_audio':
      return { ...(await audio(reading, part)), ...cached };
    case 'video_url':
      return { ...(await video(reading, part)), ...cached };
    case 'file':
      return { ...(await file(reading, part)), ...cached };
  }
}

async function image(
  reading: MediaReading,
  { image_url: { url, detail } }: PartOfType<'image_url'>,
): Promise<ImagePart> {
  const { bytes } = await bytesOf(reading, { name: 'image_url', url });
  return { ...pictureOf(bytes, 'image_url'), ...(detail == null ? {} : { detail }) };
}

function pictureOf(bytes: Buffer, name: string): ImagePart {
  const mediaType = sniffImage(bytes);
  if (!mediaType) throw unfit(name, 'not a PNG, JPEG, WebP, HEIF, HEIC or AVIF image');
  const size = imageSize(bytes, mediaType);
  if (!size) throw unfit(name, 'the image is damaged');
  const why = whyUnfit(size);
  if (why !== undefined) throw unfit(name, why);
  return { type: 'image', bytes, mediaType, pixels: size.width * size.height };
}

function unfit(name: string, why: string): FareboxError {
  return new FareboxError({ code: 'invalid_media', message: `${name}: ${why}.` });
}

function whyUnfit({ width, height }: ImageSize): string | undefined {
  if (Math.min(width, height) < MIN_SIDE) return `each side of an image has at least ${MIN_SIDE} pixels`;
  return width * height > MAX_PIXELS ? `an image has at most ${MAX_PIXELS} pixels` : undefined;
}

async function audio(
  reading: MediaReading,
  { input_audio: { data, format } }: PartOfType<'input_audio'>,
): Promise<MediaPart> {
  const bytes = fromBase64(data);
  if (!bytes) throw invalid('messages', 'input_audio.data must be base64; URLs are not taken');
  if (bytes.length > MAX_BYTES) throw tooLarge('input_audio');
  count(reading, bytes.length);
  return await readWithinBudget(reading, reading.accountId, () => measureChatAudio(reading, { bytes, format }));
}

async function video(reading: MediaReading, { video_url: { url } }: PartOfType<'video_url'>): Promise<MediaPart> {
  const { bytes, type } = await bytesOf(reading, { name: 'video_url', url });
  if (type === undefined || !VIDEO_TYPES.includes(type)) {
    throw unfit('video_url', `not one of ${VIDEO_TYPES.join(', ')}`);
  }
  return await readWithinBudget(reading, reading.accountId, () => measureChatVideo(reading, bytes));
}

/** A document becomes its text, a picture stays a picture. */
async function file(reading: MediaReading, { file: sent }: PartOfType<'file'>): Promise<UserPart> {
  const { accountId, reservedBytes, providers, share, signal } = reading;
  const { bytes, type } = await bytesOf(reading, { name: 'file_data', url: sent.file_data });
  const named = sent.filename === undefined ? {} : { filename: sent.filename };
  const document = { bytes, ...named, ...(type && { claimedType: type }) };
  const read = await readWithinBudget(reading, accountId, () =>
    share.inSlot('documents', () => providers.documents.read(document, { signal }), signal),
  );
  if (read.kind === 'image') return pictureOf(bytes, 'file');
  // A small document can contain a long text.
  count(reading, read.text.length);
  reservedBytes.take(read.text.length);
  const title = sent.filename === undefined ? '' : `${sent.filename}\n\n`;
  return { type: 'text', text: `${title}${read.text}` } satisfies TextPart;
}

interface NamedUrl {
  /** Field name, for error messages. */
  name: string;
  url: string;
}

async function bytesOf(reading: MediaReading, { name, url }: NamedUrl): Promise<MediaSource> {
  const inline = readDataUrl(url);
  if (inline === 'malformed') throw invalid('messages', `${name}: a data URL must be base64`);
  if (inline && inline.bytes.length > MAX_BYTES) throw tooLarge(name);
  const source = inline ?? (await fetchedOnce(reading, { name, url }));
  count(reading, source.bytes.length);
  return source;
}

/** Repeated media count again: the provider gets the bytes of each part. */
function count(reading: MediaReading, bytes: number): void {
  reading.totalBytes += bytes;
  if (reading.totalBytes <= MAX_TOTAL_BYTES) return;
  throw invalid('messages', `at most ${MAX_TOTAL_BYTES / MEGABYTE} MB of media in a request`);
}

function fetchedOnce(reading: MediaReading, named: NamedUrl): Promise<MediaSource> {
  const { fetched } = reading;
  const source = fetched.get(named.url) ?? fetchSource(reading, named);
  fetched.set(named.url, source);
  return source;
}

async function fetchSource(
  { providers: { downloads, folders }, reservedBytes, share, signal }: MediaReading,
  { name, url }: NamedUrl,
): Promise<MediaSource> {
  const folder = await folders.create();
  try {
    const path = join(folder, 'fetched');
    const limits = {
      path,
      maxBytes: MAX_BYTES,
      timeoutMs: FETCH_TIMEOUT_MS,
      signal,
      noteBytes: share.take,
    };
    const { contentType, sizeBytes } = await downloads.download(url, limits);
    reservedBytes.take(sizeBytes);
    return { bytes: await readFile(path), type: contentType?.split(';', 1)[0]?.trim().toLowerCase() };
  } catch (error) {
    if (!(error instanceof FareboxError) || error.code !== 'invalid_source') throw error;
    // One message for every cause (FETCH-5).
    const internal = error.internal === undefined ? {} : { internal: error.internal };
    throw new FareboxError({
      code: 'invalid_source',
      message: `The ${name} could not be fetched.`,
      ...internal,
    });
  } finally {
    await folders.remove(folder);
  }
}

function tooLarge(name: string): FareboxError {
  return new FareboxError({ code: 'payload_too_large', message: `${name} is larger than 25 MB.` });
}
