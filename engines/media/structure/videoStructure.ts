/** Result of a walk over the boxes or elements of a video: completeness, contents and claims. */

export type VideoContainer = 'mp4' | 'mov' | 'webm' | 'mkv';

export interface VideoTrack {
  /** Codec as the container names it, such as `avc1` or `V_VP9`. */
  codec: string;
  /** In pixels as stored, before rotation. */
  width: number;
  height: number;
  /** Rotated by 90 or 270 degrees for display. */
  quarterTurned: boolean;
}

export interface VideoStructure {
  container: VideoContainer;
  /** The file ends before an announced end, or its index is missing. */
  cut: boolean;
  /** Other data follows, or the file is no such container. */
  foreign: boolean;
  videoTracks: VideoTrack[];
  audioTracks: number;
  /** Longest length in any field. Absent when there is none. */
  declaredSeconds?: number;
}
