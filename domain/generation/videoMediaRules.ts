/** Rules about the media of an order, before (VIDEO-2) and after their measurement (VIDEO-4). */

import type { VideoModel } from '../catalogue/model.ts';
import { fieldOf, type MeasuredMedium } from './media.ts';
import { unsupported, type WrongField, wrongField } from './terms.ts';
import type { VideoFields } from './videoFields.ts';
import { needsOf, type VideoNeeds } from './videoNeeds.ts';
import type { CameraPoint } from './videoOrder.ts';

/** Key frames are counted in frames of this rate, independent of the output. */
const KEYFRAME_RATE = 24;
const MAX_TURNS = 32;

export function wrongMedia(
  needs: VideoNeeds,
  fields: VideoFields,
  durationSeconds: number | undefined,
): WrongField | undefined {
  return (
    wrongSingle(needs, fields) ??
    wrongLists(needs, fields) ??
    wrongElements(fields) ??
    wrongKeyframes(fields, durationSeconds) ??
    wrongCamera(needs, fields)
  );
}

function wrongSingle(needs: VideoNeeds, fields: VideoFields): WrongField | undefined {
  const rows = [
    ['image_url', needs.image],
    ['end_image_url', needs.endImage],
    ['audio_url', needs.audioInput],
    ['video_url', needs.video],
  ] as const;
  for (const [field, need] of rows) {
    if (fields[field] !== undefined && need === 'none') return unsupported(field);
    if (fields[field] === undefined && need === 'required') return wrongField(field, 'Required for this model');
  }
  if (fields.end_image_url !== undefined && fields.image_url === undefined && needs.image !== 'none') {
    return wrongField('end_image_url', 'Needs image_url');
  }
  return undefined;
}

/** A model with reference images but without a number accepts four. */
function wrongLists({ inputs }: VideoNeeds, fields: VideoFields): WrongField | undefined {
  const rows = [
    ['reference_image_urls', inputs.referenceImages],
    ['reference_video_urls', inputs.referenceVideos],
    ['reference_audio_urls', inputs.referenceAudios],
    ['reference_document_urls', inputs.referenceDocuments],
    ['scene_image_urls', inputs.sceneImages],
    ['elements', inputs.elements],
    ['keyframes', inputs.keyframes],
  ] as const;
  for (const [field, most = 0] of rows) {
    const count = fields[field]?.length ?? 0;
    if (fields[field] !== undefined && most === 0) return unsupported(field);
    if (count > most) return wrongField(field, `At most ${most} for this model`);
  }
  const references = (fields.reference_image_urls?.length ?? 0) + (fields.reference_video_urls?.length ?? 0);
  if (fields.reference_audio_urls?.length && references === 0) {
    return wrongField('reference_audio_urls', 'Needs a reference image or a reference video');
  }
  return undefined;
}

function wrongElements({ elements = [] }: VideoFields): WrongField | undefined {
  const empty = elements.findIndex(
    (element) => element.frontal_image_url === undefined && element.video_url === undefined,
  );
  return empty < 0 ? undefined : wrongField(`elements.${empty}`, 'Needs frontal_image_url or video_url');
}

function wrongKeyframes({ keyframes = [] }: VideoFields, durationSeconds: number | undefined): WrongField | undefined {
  const last = durationSeconds === undefined ? Number.POSITIVE_INFINITY : durationSeconds * KEYFRAME_RATE;
  const seen = new Set<number>();
  for (const [place, { frame_index: frame }] of keyframes.entries()) {
    const field = `keyframes.${place}.frame_index`;
    if (seen.has(frame)) return wrongField(field, 'Each frame_index must be unique');
    if (frame > last) return wrongField(field, `Must be at most ${last} for this duration`);
    seen.add(frame);
  }
  return undefined;
}

function wrongCamera(needs: VideoNeeds, { camera_trajectory: points, image_url }: VideoFields): WrongField | undefined {
  if (points === undefined) return undefined;
  if (needs.inputs.cameraTrajectory !== true) return unsupported('camera_trajectory');
  if (image_url === undefined) return wrongField('camera_trajectory', 'Needs image_url');
  const backwards = points.findIndex((point, place) => place > 0 && point.time <= (points[place - 1]?.time ?? 0));
  if (backwards >= 0) return wrongField(`camera_trajectory.${backwards}.time`, 'Must be later than the one before');
  if (travelOf(points) > MAX_TURNS * 360) {
    return wrongField('camera_trajectory', `The azimuth may travel ${MAX_TURNS} turns in all`);
  }
  return undefined;
}

function travelOf(points: readonly CameraPoint[]): number {
  return points
    .slice(1)
    .reduce((sum, point, place) => sum + Math.abs(point.azimuth - (points[place]?.azimuth ?? 0)), 0);
}

/** Returns the first rule that the measurements violate. */
export function wrongMeasured(model: VideoModel, media: readonly MeasuredMedium[]): WrongField | undefined {
  for (const medium of media) {
    const problem = medium.role === 'reference_image' ? wrongReference(model, medium) : undefined;
    if (problem) return problem;
  }
  const most = model.inputs?.referenceVideoSeconds;
  const videos = media.filter(({ role }) => role === 'reference_video');
  const seconds = videos.reduce((sum, video) => sum + (video.seconds ?? 0), 0);
  return most !== undefined && seconds > most + 1e-3
    ? wrongField('reference_video_urls', `Must be at most ${most} s long in all for this model`)
    : undefined;
}

function wrongReference(model: VideoModel, medium: MeasuredMedium): WrongField | undefined {
  const { constraints } = needsOf(model);
  const { width = 0, height = 0 } = medium;
  const shortSide = constraints.reference_image_min_short_side_pixels ?? 0;
  if (Math.min(width, height) < shortSide) {
    return wrongField(fieldOf(medium), `The short side must have at least ${shortSide} pixels for this model`);
  }
  const ratio = width / Math.max(1, height);
  const least = constraints.reference_image_min_aspect_ratio ?? 0;
  const most = constraints.reference_image_max_aspect_ratio ?? Number.POSITIVE_INFINITY;
  if (ratio >= least && ratio <= most) return undefined;
  return wrongField(fieldOf(medium), `The aspect ratio must be from ${least} to ${most} for this model`);
}
