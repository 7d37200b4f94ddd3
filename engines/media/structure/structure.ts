/** What a walk over a container's own units (pages, boxes, chunks, frames) says about the file as a whole. */
export interface Structure {
  /** It ends inside a unit whose size it announced: a part of the recording is missing. */
  cut: boolean;
  /** A length field contradicts the rest of the file: read to the end, whatever it says. */
  falseLength?: boolean;
  /** Mostly something else, or a chain of unlike codecs that no decoder reads to its end. */
  foreign?: boolean;
  /** What the units add up to, where they tell it; for show, never for a bill. */
  seconds?: number;
  /** How many of each kind an MP4 has; of a WAV only that there are none. */
  tracks?: { audio: number; video: number };
}

export const WHOLE: Structure = { cut: false };
