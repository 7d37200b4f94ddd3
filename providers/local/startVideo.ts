/** Which of the engine's two ways with video an order means. */
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type { CallContext, Outcome, VideoRequest } from '../shared/provider.ts';
import { upscaleVideo } from './upscale/localUpscale.ts';
import { makeVideo } from './video/localVideo.ts';

export function startVideo(tools: MediaTools, request: VideoRequest, context: CallContext): Promise<Outcome> {
  const { upscale } = request;
  return upscale === undefined
    ? makeVideo(tools, request, context)
    : upscaleVideo(tools, { ...request, upscale }, context);
}
