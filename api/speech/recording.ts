/** Decodes an uploaded recording before its metadata is trusted (PARSE-1, PARSE-2). */
import { writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { AudioFormat } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { type MeasuredAudio, measureAudio } from '../../engines/media/measureAudio.ts';
import { takeSound } from '../../engines/media/takeSound.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { RecordingFile } from '../../providers/shared/mediaProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import type { UploadedFile } from '../http/route.ts';

export const MAX_FILE_BYTES = 25 * 1024 * 1024;
/** A repacked sound is at most as large as its video, except for container tables. */
const MAX_SOUND_BYTES = MAX_FILE_BYTES + 1024 * 1024;

export interface RecordingRequirements {
  accepted: readonly AudioFormat[];
  maxSeconds: number;
  minSeconds?: number;
  mayHavePictures?: boolean;
  /** Private folder, which outlives the recording. */
  folder: string;
  signal: AbortSignal;
  share: RequestShare;
}

type RecordingDependencies = Pick<Dependencies, 'core' | 'providers'>;

/** Throws FareboxError `invalid_media`, `media_too_long`, or `unavailable` when too many are being decoded. */
export async function takeRecording(
  dependencies: RecordingDependencies,
  file: UploadedFile,
  wanted: RecordingRequirements,
): Promise<RecordingFile> {
  if (!claimsToBeSound(file)) throw refused('The file is of no known audio type.');
  const { share, signal } = wanted;
  return await share.inSlot('decoders', () => decoded(dependencies, file, wanted), signal);
}

async function decoded(
  dependencies: RecordingDependencies,
  file: UploadedFile,
  wanted: RecordingRequirements,
): Promise<RecordingFile> {
  const { folder, accepted, maxSeconds, minSeconds = 0, mayHavePictures = false, signal } = wanted;
  const path = 'path' in file.content ? file.content.path : join(folder, 'recording');
  if ('bytes' in file.content) await writeFile(path, file.content.bytes, { mode: 0o600 });
  const measured = await measureAudio(toolsOf(dependencies), {
    path,
    accepted,
    maxSeconds,
    mayHavePictures,
    signal,
  });
  if (!measured.ok) throw new FareboxError(measured);
  const { audio } = measured;
  if (audio.decodedSeconds < minSeconds) throw refused(`The audio is shorter than ${minSeconds} seconds.`);
  const { demuxer, contentType, decodedSeconds: seconds } = audio;
  const whole = audio.hasPictures ? await soundOf(dependencies, { path, audio, wanted }) : path;
  return { path: whole, contentType, demuxer, seconds };
}

interface Video {
  path: string;
  audio: MeasuredAudio;
  wanted: RecordingRequirements;
}

/** Services that accept recordings refuse videos, or bill them differently. */
async function soundOf(dependencies: RecordingDependencies, { path, audio, wanted }: Video): Promise<string> {
  const to = join(wanted.folder, 'sound');
  const sound = { path, audio, to, maxBytes: MAX_SOUND_BYTES, signal: wanted.signal };
  if (await takeSound(toolsOf(dependencies), sound)) return to;
  throw refused('The sound of the video could not be taken out of it.');
}

function toolsOf({ core: { config }, providers: { folders } }: RecordingDependencies) {
  const { ffmpegPath, ffprobePath } = config;
  return { ffmpegPath, ffprobePath, workFolder: folders.root };
}

const EXTENSIONS = new Set(
  ['wav', 'wave', 'flac', 'm4a', 'aac', 'mp4', 'mp3', 'mpga', 'ogg', 'oga', 'opus', 'webm'].map(
    (extension) => `.${extension}`,
  ),
);
const TYPES = /^(audio\/.*|video\/(mp4|webm|ogg)|application\/(ogg|mp4))$/;
const NO_TYPE = 'application/octet-stream';

/** Name and type are claims; one that names a different kind of file is reported as a mistake of the sender. */
function claimsToBeSound({ claimedName, claimedContentType }: UploadedFile): boolean {
  const extension = extname(claimedName).toLowerCase();
  const type = (claimedContentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (EXTENSIONS.has(extension) || TYPES.test(type)) return true;
  return extension === '' && type === NO_TYPE;
}

function refused(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_media', message });
}

/** Throws when no file was sent, or only the empty field of a form (AUDIO-5). */
export function requireFile(file: UploadedFile | undefined): UploadedFile {
  if (file) return file;
  throw new FareboxError({ code: 'invalid_request', message: NO_FILE });
}

export const NO_FILE = 'No audio file provided';
