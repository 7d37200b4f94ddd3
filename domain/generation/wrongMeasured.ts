/** Rules about media that need their measures (VIDEO-4). */
import type { VideoModel } from '../catalogue/model.ts';
import { fieldOf, type MeasuredMedium } from './media.ts';
import { type WrongField, wrong } from './terms.ts';
import { needsOf } from './videoNeeds.ts';

export function wrongMeasured(model: VideoModel, media: readonly MeasuredMedium[]): WrongField | undefined {
  for (const medium of media) {
    const problem = medium.role === 'reference_image' ? wrongReference(model, medium) : undefined;
    if (problem) return problem;
  }
  const most = model.inputs?.referenceVideoSeconds;
  const videos = media.filter(({ role }) => role === 'reference_video');
  const seconds = videos.reduce((sum, video) => sum + (video.seconds ?? 0), 0);
  return most !== undefined && seconds > most + 1e-3
    ? wrong('reference_video_urls', `Must be at most ${most} s long in all for this model`)
    : undefined;
}

function wrongReference(model: VideoModel, medium: MeasuredMedium): WrongField | undefined {
  const { constraints } = needsOf(model);
  const { width = 0, height = 0 } = medium;
  const shortSide = constraints.reference_image_min_short_side_pixels ?? 0;
  if (Math.min(width, height) < shortSide) {
    return wrong(fieldOf(medium), `The short side must have at least ${shortSide} pixels for this model`);
  }
  const ratio = width / Math.max(1, height);
  const least = constraints.reference_image_min_aspect_ratio ?? 0;
  const most = constraints.reference_image_max_aspect_ratio ?? Number.POSITIVE_INFINITY;
  if (ratio >= least && ratio <= most) return undefined;
  return wrong(fieldOf(medium), `The aspect ratio must be from ${least} to ${most} for this model`);
}
