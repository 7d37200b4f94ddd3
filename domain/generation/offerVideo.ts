/** Builds an order from the fields of a request, with the parameters of its price (VIDEO-1). */
import type { VideoModel } from '../catalogue/model.ts';
import { charactersOf } from '../speech/price.ts';
import type { VideoUsage } from './priceVideo.ts';
import { unsupported, type WrongField, wrongField } from './terms.ts';
import { orderUpscale } from './upscaleRules.ts';
import { mediaOf, type NamedMedium, type VideoFields } from './videoFields.ts';
import { wrongMedia } from './videoMediaRules.ts';
import { needsOf, type VideoNeeds } from './videoNeeds.ts';
import type { VideoOrder } from './videoOrder.ts';

export type VideoOffer =
  | { ok: true; order: VideoOrder; usage: VideoUsage; media: NamedMedium[]; needs: VideoNeeds }
  | WrongField;

const MAX_PROMPT_LENGTH = 2_500;
/** Length of a source, where `duration` is only a hint. */
const MAX_HINT_SECONDS = 300;

/** Applies all rules and defaults of the model: the order is complete. */
export function offerVideo(model: VideoModel, fields: VideoFields): VideoOffer {
  const needs = needsOf(model);
  const framing = frameOf(needs, fields);
  if (!framing.ok) return framing;
  const upscale = orderUpscale(needs, fields);
  if (!upscale.ok) return upscale;
  const problem =
    wrongWords(needs, fields) ?? wrongExtras(needs, fields) ?? wrongMedia(needs, fields, framing.durationSeconds);
  if (problem) return problem;
  const { durationSeconds, pricedSeconds, ...frame } = framing.frame;
  const order: VideoOrder = {
    kind: 'video',
    ...wordsOf(fields),
    ...frame,
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    ...extrasOf(needs, fields),
    ...upscale.member,
  };
  const usage: VideoUsage = {
    ...(frame.resolution === undefined ? {} : { resolution: frame.resolution }),
    ...(pricedSeconds === undefined ? {} : { durationSeconds: pricedSeconds }),
    ...(frame.audio === false ? { silent: true } : {}),
    ...(order.upscale ? { upscale: usageOfUpscale(order.upscale) } : {}),
  };
  return { ok: true, order, usage, media: mediaOf(fields), needs };
}

function usageOfUpscale({ factor, targetFps, slowdownFactor }: NonNullable<VideoOrder['upscale']>) {
  return {
    factor,
    ...(targetFps === undefined ? {} : { targetFps }),
    ...(slowdownFactor === undefined ? {} : { slowdownFactor }),
  };
}

interface Frame {
  durationSeconds?: number;
  /** Charged length when the service decides: the longest that the model lists. */
  pricedSeconds?: number;
  aspectRatio?: string;
  resolution?: string;
  audio?: boolean;
}

type FrameResult = { ok: true; frame: Frame; durationSeconds: number | undefined } | WrongField;

/** Length, shape, size and sound, also for the quote. */
export function frameOf(needs: VideoNeeds, fields: VideoFields): FrameResult {
  const { constraints } = needs;
  const duration = needs.bySource ? hintOf(fields.duration) : durationOf(constraints.durations, fields.duration);
  if (!duration.ok) return duration;
  const aspectRatio = choiceOf('aspect_ratio', constraints.aspect_ratios, fields.aspect_ratio);
  if (!aspectRatio.ok) return aspectRatio;
  if (needs.upscales && fields.resolution !== undefined) return unsupported('resolution');
  const resolution = choiceOf('resolution', constraints.resolutions, fields.resolution);
  if (!resolution.ok) return resolution;
  if (fields.audio !== undefined && constraints.audio_configurable !== true) return unsupported('audio');
  return {
    ok: true,
    durationSeconds: duration.frame.durationSeconds,
    frame: {
      ...duration.frame,
      ...(aspectRatio.value === undefined ? {} : { aspectRatio: aspectRatio.value }),
      ...(resolution.value === undefined ? {} : { resolution: resolution.value }),
      ...(constraints.audio_configurable === true ? { audio: fields.audio ?? true } : {}),
    },
  };
}

type VideoDurationResult = { ok: true; frame: Pick<Frame, 'durationSeconds' | 'pricedSeconds'> } | WrongField;

function durationOf(listed: readonly string[], wanted: string | undefined): VideoDurationResult {
  const duration = wanted ?? (listed.length === 1 ? listed[0] : undefined);
  if (duration === undefined) return wrongField('duration', 'Required');
  if (!listed.includes(duration)) return wrongField('duration', `Must be one of ${listed.join(', ')} for this model`);
  const seconds = secondsOf(duration);
  if (seconds !== undefined) return { ok: true, frame: { durationSeconds: seconds, pricedSeconds: seconds } };
  const longest = Math.max(0, ...listed.map((entry) => secondsOf(entry) ?? 0));
  return { ok: true, frame: longest > 0 ? { pricedSeconds: longest } : {} };
}

/** `auto`, `-1` and `1 gen` name no length. */
function secondsOf(duration: string): number | undefined {
  const match = /^([1-9]\d?)s$/.exec(duration);
  return match ? Number(match[1]) : undefined;
}

/** The source decides: the value is only checked, as seconds with or without their unit. */
function hintOf(wanted: string | undefined): VideoDurationResult {
  if (wanted === undefined) return { ok: true, frame: {} };
  const match = /^(\d{1,3}(?:\.\d{1,3})?)s?$/.exec(wanted);
  const seconds = match ? Number(match[1]) : Number.NaN;
  if (seconds > 0 && seconds <= MAX_HINT_SECONDS) return { ok: true, frame: {} };
  return wrongField('duration', `Leave it out, or give the seconds of the source, at most ${MAX_HINT_SECONDS}`);
}

type Choice = { ok: true; value?: string } | WrongField;

function choiceOf(field: string, listed: readonly string[], wanted: string | undefined): Choice {
  if (wanted === undefined) return { ok: true, ...(listed[0] === undefined ? {} : { value: listed[0] }) };
  if (listed.length === 0) return unsupported(field);
  if (listed.includes(wanted)) return { ok: true, value: wanted };
  return wrongField(field, `Must be one of ${listed.join(', ')} for this model`);
}

function wrongWords(needs: VideoNeeds, { prompt, negative_prompt }: VideoFields): WrongField | undefined {
  if (negative_prompt !== undefined && needs.inputs.negativePrompt !== true) {
    return unsupported('negative_prompt');
  }
  if (prompt === undefined) return needs.prompt === 'required' ? wrongField('prompt', 'Required') : undefined;
  if (needs.prompt === 'none') return unsupported('prompt');
  const most = needs.constraints.prompt_character_limit ?? MAX_PROMPT_LENGTH;
  if (charactersOf(prompt) > most) return wrongField('prompt', `Must have at most ${most} characters for this model`);
  return prompt.trim() === '' ? wrongField('prompt', 'Must not be empty') : undefined;
}

function wordsOf({ prompt, negative_prompt: negativePrompt }: VideoFields): Partial<VideoOrder> {
  return {
    ...(prompt === undefined ? {} : { prompt: prompt.trim() }),
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
  };
}

function wrongExtras({ inputs }: VideoNeeds, fields: VideoFields): WrongField | undefined {
  const task = fields.omni_reference_task_type;
  if (task !== undefined && !inputs.omniReferenceTasks?.includes(task)) {
    const listed = inputs.omniReferenceTasks ?? [];
    if (listed.length === 0) return unsupported('omni_reference_task_type');
    return wrongField('omni_reference_task_type', `Must be one of ${listed.join(', ')} for this model`);
  }
  const needsVideo = task === 'edit' || task === 'extend' || task === 'stitch';
  if (needsVideo && !fields.reference_video_urls?.length) {
    return wrongField('omni_reference_task_type', `${task} needs reference_video_urls`);
  }
  if (fields.bitrate_mode !== undefined && inputs.bitrateMode !== true) return unsupported('bitrate_mode');
  if (fields.consents !== undefined && inputs.consent === undefined) return unsupported('consents');
  return undefined;
}

function extrasOf({ inputs }: VideoNeeds, fields: VideoFields): Partial<VideoOrder> {
  const usualTask = inputs.omniReferenceTasks?.includes('auto') ? 'auto' : inputs.omniReferenceTasks?.[0];
  const task = fields.omni_reference_task_type ?? usualTask;
  const bitrateMode = fields.bitrate_mode ?? (inputs.bitrateMode === true ? 'standard' : undefined);
  return {
    ...(task === undefined ? {} : { omniReferenceTask: task }),
    ...(bitrateMode === undefined ? {} : { bitrateMode }),
    ...(fields.camera_trajectory === undefined ? {} : { cameraTrajectory: fields.camera_trajectory }),
    ...(fields.keyframes === undefined
      ? {}
      : { keyframes: fields.keyframes.map(({ frame_index }) => ({ frameIndex: frame_index })) }),
  };
}
