/** Accepted and required inputs of a video model: its entry with all defaults. */
import type { VideoInputs, VideoModel } from '../catalogue/model.ts';
import type { VideoSpec } from '../catalogue/specs.ts';

type Need = 'required' | 'optional' | 'none';

export interface VideoNeeds {
  constraints: NonNullable<VideoSpec['constraints']>;
  inputs: VideoInputs;
  prompt: Need;
  image: Need;
  endImage: Need;
  audioInput: Need;
  video: Need;
  /** The source determines the length: there is no `duration`. */
  bySource: boolean;
  /** Accepts `upscale_factor` and the like. */
  upscales: boolean;
}

const NO_CONSTRAINTS: NonNullable<VideoSpec['constraints']> = {
  model_type: 'text-to-video',
  durations: [],
  resolutions: [],
  aspect_ratios: [],
};

export function needsOf({ spec, inputs = {} }: VideoModel): VideoNeeds {
  const constraints = spec.constraints ?? NO_CONSTRAINTS;
  const upscales = inputs.upscale === true;
  const fromVideo = constraints.model_type === 'video' || upscales;
  return {
    constraints,
    inputs,
    prompt: inputs.prompt ?? promptNeed(upscales, constraints.topaz?.prompt === true),
    image: inputs.image ?? (constraints.model_type === 'image-to-video' ? 'required' : 'none'),
    endImage: inputs.endImage ?? 'none',
    audioInput: constraints.audio_input === true ? 'optional' : 'none',
    video: inputs.video ?? (fromVideo ? 'required' : constraints.video_input === true ? 'optional' : 'none'),
    bySource: fromVideo,
    upscales,
  };
}

function promptNeed(upscales: boolean, takesPrompt: boolean): Need {
  if (!upscales) return 'required';
  return takesPrompt ? 'optional' : 'none';
}
