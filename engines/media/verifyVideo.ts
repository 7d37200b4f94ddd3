/** Whether what a provider delivered is a whole video, by signature and structure; two gigabytes cost a few thousand reads. */
import { inspector } from './inspector.ts';
import { VIDEO_READINGS } from './videoReadings.ts';

export interface VerifiedVideo {
  contentType: string;
  /** Where the structure tells it; for show, never for a bill. */
  seconds?: number;
  /** As shown, after rotation. */
  width: number;
  height: number;
  hasAudio: boolean;
}

/** Undefined: not a video that a client could use. */
export async function verifyVideo(path: string, signal?: AbortSignal): Promise<VerifiedVideo | undefined> {
  const structure = await inspector.inspect('video', path);
  signal?.throwIfAborted();
  const [track] = structure?.videoTracks ?? [];
  if (structure === undefined || track === undefined || structure.cut || structure.foreign) return undefined;
  const { width, height, quarterTurned } = track;
  if (width === 0 || height === 0) return undefined;
  return {
    contentType: VIDEO_READINGS[structure.container].contentType,
    ...(structure.declaredSeconds === undefined ? {} : { seconds: structure.declaredSeconds }),
    ...(quarterTurned ? { width: height, height: width } : { width, height }),
    hasAudio: structure.audioTracks > 0,
  };
}
