/** What is said of a picture to the process that works on it, and what that answers. */
export interface SourceImage {
  path: string;
  /** Where the result is put when it is another file. */
  target: string;
  /** A picture that has more is not decoded. */
  maxPixels: number;
}

/** Also what providers take for a picture. */
export interface ImageFacts {
  path: string;
  contentType: string;
  /** In pixels, as shown. */
  width: number;
  height: number;
  /** Of the file. */
  bytes: number;
}
