import { FORMAT_READINGS } from '../../engines/media/formats.ts';

/** ffmpeg's options for a source: the very reading by which it was measured, and nothing else. Before `-i`. */
export function reading(demuxer: string): string[] {
  const known = Object.values(FORMAT_READINGS).find((format) => format.demuxer === demuxer);
  if (known === undefined) throw new Error(`no such demuxer: ${demuxer}`);
  return ['-codec_whitelist', known.decoders.join(','), '-f', known.demuxer, ...known.demuxerOptions];
}
