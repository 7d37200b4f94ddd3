/** A recording as a part of a form. Services go by the name's ending; the name itself says nothing about the person's file. */
import type { MultipartFile } from '../../infra/http/multipart.ts';
import type { RecordingFile } from './mediaProvider.ts';

/** By the demuxer that read it. */
const ENDINGS: Readonly<Record<string, string>> = {
  mp3: 'mp3',
  wav: 'wav',
  ogg: 'ogg',
  flac: 'flac',
  mov: 'm4a',
  aac: 'aac',
  matroska: 'webm',
};

export function recordingPart(name: string, { path, contentType, demuxer }: RecordingFile): MultipartFile {
  const ending = Object.hasOwn(ENDINGS, demuxer) ? ENDINGS[demuxer] : 'audio';
  return { name, path, contentType, filename: `recording.${ending}` };
}
