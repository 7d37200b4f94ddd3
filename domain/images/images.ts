/** Ratios, formats and bounds of images (IMAGE-2, IMAGE-5). */

export const ASPECT_RATIOS = ['1:1', '3:2', '16:9', '21:9', '9:16', '2:3', '3:4', '4:3', '4:5'] as const;
export type AspectRatio = (typeof ASPECT_RATIOS)[number];

export const IMAGE_FORMATS = ['png', 'jpeg', 'webp'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

export interface PixelSize {
  width: number;
  height: number;
}

/** Bounds of a source of an edit, both included; the file is smaller than 25 MB (IMAGE-2). */
export const SOURCE_PIXELS = { least: 65_536, most: 33_177_600 } as const;
export const SOURCE_BYTES = 25 * 1024 * 1024;

export const IMAGE_CONTENT_TYPES: Record<ImageFormat, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};
