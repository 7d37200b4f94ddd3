/** What a walk over the boxes or elements of a video says about it: where it ends, what is in it, what it claims. */

export type VideoContainer = 'mp4' | 'mov' | 'webm' | 'mkv';

export interface VideoTrack {
  /** In the container's own words, such as `avc1` or `V_VP9`. */
  codec: string;
  /** As stored, before rotation. */
  width: number;
  height: number;
  /** Shown turned by 90 or 270 degrees. */
  quarterTurned: boolean;
}

export interface VideoStructure {
  container: VideoContainer;
  /** It ends before everything that it announced, or its index is missing. */
  cut: boolean;
  /** Something else follows, or it is no such container at all. */
  foreign: boolean;
  videoTracks: VideoTrack[];
  audioTracks: number;
  /** The longest length that any of its fields tells; absent where none does. */
  declaredSeconds?: number;
}
