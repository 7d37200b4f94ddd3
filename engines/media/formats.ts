/** Decoding settings of each accepted container: one fixed demuxer, and only decoders that belong to it. */
import type { AudioFormat } from '../../domain/catalogue/model.ts';

/** Formats that are measured. `aiff` is accepted in prompts only, so that no model entry names it. */
export type SoundFormat = AudioFormat | 'aiff';

export interface FormatReading {
  demuxer: string;
  /** Ignores edit lists and other claims that could hide content from the count. */
  demuxerOptions: readonly string[];
  decoders: readonly string[];
  contentType: string;
}

const MPEG_AUDIO = ['mp3float', 'mp3', 'mp2float', 'mp2', 'mp1float', 'mp1'];
const PCM = [
  ...['pcm_u8', 'pcm_s16le', 'pcm_s24le', 'pcm_s32le', 'pcm_f32le', 'pcm_f64le', 'pcm_alaw', 'pcm_mulaw'],
  ...['adpcm_ms', 'adpcm_ima_wav'],
];

const BIG_ENDIAN_PCM = [
  ...['pcm_s8', 'pcm_s16be', 'pcm_s24be', 'pcm_s32be', 'pcm_f32be', 'pcm_f64be', 'pcm_s16le'],
  ...['pcm_alaw', 'pcm_mulaw'],
];

export const FORMAT_READINGS: Record<SoundFormat, FormatReading> = {
  mp3: { demuxer: 'mp3', demuxerOptions: [], decoders: MPEG_AUDIO, contentType: 'audio/mpeg' },
  wav: { demuxer: 'wav', demuxerOptions: [], decoders: PCM, contentType: 'audio/wav' },
  ogg: {
    demuxer: 'ogg',
    demuxerOptions: [],
    decoders: ['vorbis', 'opus', 'flac', 'speex', 'libspeex'],
    contentType: 'audio/ogg',
  },
  flac: { demuxer: 'flac', demuxerOptions: [], decoders: ['flac'], contentType: 'audio/flac' },
  mp4: {
    demuxer: 'mov',
    demuxerOptions: ['-ignore_editlist', '1', '-ignore_chapters', '1'],
    decoders: ['aac', 'alac', 'flac', 'opus', ...MPEG_AUDIO],
    contentType: 'audio/mp4',
  },
  aac: { demuxer: 'aac', demuxerOptions: [], decoders: ['aac'], contentType: 'audio/aac' },
  webm: { demuxer: 'matroska', demuxerOptions: [], decoders: ['opus', 'vorbis'], contentType: 'audio/webm' },
  aiff: { demuxer: 'aiff', demuxerOptions: [], decoders: BIG_ENDIAN_PCM, contentType: 'audio/aiff' },
};

/** True for codecs whose encoders add samples at both ends. */
export function isLossy(codec: string): boolean {
  return !/^(pcm_|adpcm_|flac|alac)/.test(codec);
}
