/**
 * Accepted image types and their decoding settings: one demuxer, one type of decoder. Every ffmpeg of recent years
 * decodes these. No service accepts BMP and TIFF. Only the newest ffmpeg can assemble the tiles of HEIC.
 */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

export interface ImageReading {
  /** Name in error messages. */
  name: string;
  demuxer: string;
  decoders: readonly string[];
}

export const IMAGE_READINGS: Record<ImageType, ImageReading> = {
  'image/png': { name: 'PNG', demuxer: 'png_pipe', decoders: ['png', 'apng'] },
  'image/jpeg': { name: 'JPEG', demuxer: 'jpeg_pipe', decoders: ['mjpeg'] },
  'image/webp': { name: 'WebP', demuxer: 'webp_pipe', decoders: ['webp', 'vp8'] },
  'image/gif': { name: 'GIF', demuxer: 'gif', decoders: ['gif'] },
  'image/avif': { name: 'AVIF', demuxer: 'mov', decoders: ['libdav1d', 'libaom-av1', 'av1'] },
};
