/** Whether what a provider delivered is a whole recording, by signature and structure; a page of HTML is not. */
import type { AudioFormat } from '../../domain/catalogue/model.ts';
import { FORMAT_READINGS } from './formats.ts';
import { inspector } from './inspector.ts';

export interface VerifiedAudio {
  format: AudioFormat;
  contentType: string;
  /** Where the structure tells it. */
  seconds?: number;
}

/** Undefined: not a recording that a client could use. */
export async function verifyAudio(path: string, signal?: AbortSignal): Promise<VerifiedAudio | undefined> {
  const inspection = await inspector.inspect('audio', path);
  signal?.throwIfAborted();
  if (inspection === undefined) return undefined;
  const { format, structure } = inspection;
  // No provider is asked for AIFF.
  if (format === undefined || format === 'aiff') return undefined;
  if (structure.cut || structure.foreign) return undefined;
  const { seconds, tracks } = structure;
  // The box of an MP4 may hold a film, or nothing at all.
  if (tracks && (tracks.audio === 0 || tracks.video > 0)) return undefined;
  return {
    format,
    contentType: FORMAT_READINGS[format].contentType,
    ...(seconds === undefined ? {} : { seconds }),
  };
}
