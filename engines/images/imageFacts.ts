/** Input of an image task. */
export interface SourceImage {
  path: string;
  /** Path of the result, if it is another file. */
  target: string;
  /** Larger images are not decoded. */
  maxPixels: number;
}

/** Result of an image task. Also the input image of providers. */
export interface ImageFacts {
  path: string;
  contentType: string;
  /** In pixels, after rotation. */
  width: number;
  height: number;
  /** File size. */
  bytes: number;
}
