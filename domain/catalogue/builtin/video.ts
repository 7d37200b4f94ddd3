/**
 * Video (api-facts 11): ids without a published price or constraints, so they stay offline until a configuration prices
 * them. Where privacy is not published it is `anonymized`, on which a key that asks for private models is safe.
 */
import type { VideoModel } from '../model.ts';
import { base } from './entry.ts';

const PRIVATE_IDS = ['longcat-text-to-video', 'grok-imagine-text-to-video-private'] as const;

const OTHER_IDS = [
  'wan-2.6-text-to-video',
  'wan-2.6-image-to-video',
  'wan-2-7-video-to-video',
  'seedance-2-5-reference-to-video-basic',
  'kling-o3-pro-reference-to-video',
  'kling-v3-pro-text-to-video',
  'minimax-h3-reference-to-video',
  'sora-2-text-to-video',
  'veo3.1-fast-text-to-video',
  'topaz-video-upscale',
  'pixverse-c1-transition',
  'runway-gen4-5',
] as const;

function video(id: string, privacy: VideoModel['privacy']): VideoModel {
  return { ...base({ id, provider: 'fal', privacy }), kind: 'video', type: 'video', spec: {} };
}

export const VIDEO_MODELS: readonly VideoModel[] = [
  ...OTHER_IDS.map((id) => video(id, 'anonymized')),
  ...PRIVATE_IDS.map((id) => video(id, 'private')),
];
