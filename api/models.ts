/** Finds the model of a request, or throws the documented refusal. */

import type { Caller } from '../domain/caller.ts';
import { type AttemptsQuery, attemptsOf } from '../domain/catalogue/attempts.ts';
import {
  MODEL_TYPES,
  type Model,
  type ModelKind,
  type ModelType,
  type MusicModel,
  type VideoModel,
  type VoiceChangerModel,
} from '../domain/catalogue/model.ts';
import { modelNamed, type Retirement, resolveModel } from '../domain/catalogue/resolveModel.ts';
import { FareboxError } from '../domain/errors.ts';
import type { JobKind } from '../domain/jobs.ts';
import { forbiddenReason, isOffline, offlineReason } from '../domain/modelAccess.ts';
import type { Config } from '../infra/config/config.ts';
import { invalid } from './http/invalid.ts';

export interface NamedModel<M extends Model = Model> {
  /** Resolved model: its id, privacy and price count. */
  model: M;
  /** Deprecation headers (MODEL-9); empty for most models. */
  headers: Record<string, string>;
}

/** Finds by id, alias or trait of the type. Throws FareboxError `model_not_found`, with a hint if there is one. */
export function requireModel(config: Config, name: string, type: ModelType): NamedModel {
  const resolution = resolveModel(config.modelCatalogue, { name, type, now: new Date().toISOString() });
  if (!resolution.ok) throw new FareboxError({ code: 'model_not_found', message: resolution.message });
  return { model: resolution.model, headers: noticeOf(resolution.deprecated) };
}

/**
 * Finds a model of any type. A name that several types know, like a trait, is that of a text model. Throws FareboxError
 * `model_not_found`.
 */
export function requireListedModel(config: Config, name: string): NamedModel {
  const now = new Date().toISOString();
  const types = ['text', ...MODEL_TYPES] as const;
  const type = types.find((each) => modelNamed(config.modelCatalogue, { name, type: each, now })) ?? 'text';
  return requireModel(config, name, type);
}

/** Finds a voice-changer model; other models are refused with 400 on these routes. */
export function requireVoiceChanger(config: Config, name: string): NamedModel<VoiceChangerModel> {
  const { model, headers } = requireModel(config, name, 'music');
  if (model.kind === 'voice-changer') return { model, headers };
  throw invalid('model', 'This endpoint takes voice-changer models only');
}

/** Finds a music or speech model; voice changers are refused with 400, since they have routes of their own. */
export function requireAudioModel(config: Config, name: string): NamedModel<MusicModel> {
  const { model, headers } = requireModel(config, name, 'music');
  if (model.kind === 'music') return { model, headers };
  throw invalid('model', 'This endpoint takes no voice-changer models');
}

export function requireVideoModel(config: Config, name: string): NamedModel<VideoModel> {
  const { model, headers } = requireModel(config, name, 'video');
  if (model.kind === 'video') return { model, headers };
  throw invalid('model', 'This endpoint takes video models only');
}

/** Whether the videos of a model have a `download_url` (VIDEO-8). */
export function hasDownloadUrl(model: Model): boolean {
  return model.kind === 'video' && (model.privacy === 'private' || isDownloadOnly(model));
}

/** Whether retrieve sends the state of a finished video and leaves its bytes to the `download_url`. */
export function isDownloadOnly(model: Model): boolean {
  return model.kind === 'video' && model.inputs?.downloadLink === true;
}

/** Models of a kind of job. */
export const MODEL_OF_JOB = {
  'voice-changer': { type: 'music', kind: 'voice-changer' },
  audio: { type: 'music', kind: 'music' },
  video: { type: 'video', kind: 'video' },
} as const satisfies Record<JobKind, { type: ModelType; kind: ModelKind }>;

/**
 * Finds the model of an existing job, which may have left the catalogue: then the id is the name, and the model
 * undefined. Throws FareboxError `invalid_request` for a model of other routes.
 */
export function modelOfJob(config: Config, name: string, job: JobKind) {
  const { type, kind } = MODEL_OF_JOB[job];
  const resolution = resolveModel(config.modelCatalogue, { name, type, now: new Date().toISOString() });
  if (!resolution.ok) return { modelId: name, model: undefined, headers: {} };
  const { model, deprecated } = resolution;
  // A job keeps its model, also when another one answers new orders.
  const modelId = deprecated?.id ?? model.id;
  const itself = config.modelCatalogue.byId.get(modelId);
  if (itself !== undefined && itself.kind !== kind) {
    throw invalid('model', `This endpoint takes no ${itself.kind} models`);
  }
  return { modelId, model: itself, headers: noticeOf(deprecated) };
}

function noticeOf(deprecated: Retirement | undefined): Record<string, string> {
  if (deprecated === undefined) return {};
  const { id, date, removesAt, replacement } = deprecated;
  const hint = replacement === undefined ? '' : ` Please use ${replacement} instead.`;
  return {
    'x-service-model-deprecation-warning': `The model ${id} is deprecated and is removed on ${removesAt}.${hint}`,
    'x-service-model-deprecation-date': date,
    'x-service-deprecated': 'true',
    ...(replacement === undefined ? {} : { 'x-service-deprecated-replacement': replacement }),
  };
}

/** Refuses a model that cannot be called now (503), or not with this key (403). */
export function requireCallable(config: Config, model: Model, caller: Caller): void {
  const forbidden = forbiddenReason(model, caller);
  if (forbidden !== undefined) throw new FareboxError({ code: 'forbidden', message: forbidden });
  const offline = whyOffline(config, model);
  if (offline !== undefined) throw new FareboxError({ code: 'model_offline', message: offline });
}

/**
 * Lists the models that may answer a request, in the order of attempts, for routes with fallbacks or characters. Throws
 * FareboxError `model_not_found`, `forbidden` or, when none can be called now, `model_offline`.
 */
export function requireAttempts(config: Config, asked: Omit<AttemptsQuery, 'now'>, caller: Caller): NamedModel[] {
  const { modelPrivacy, models } = caller;
  const terms = { modelPrivacy, models, isOffline: (model: Model) => isOffline(model, config) };
  const found = attemptsOf(config.modelCatalogue, { now: new Date().toISOString(), ...asked }, terms);
  if (!found.ok) throw new FareboxError({ code: found.code, message: found.message });
  const online = found.attempts.filter(({ model }) => whyOffline(config, model) === undefined);
  if (online.length === 0) requireCallable(config, found.attempts[0].model, caller);
  return online.map(({ model, deprecated }) => ({ model, headers: noticeOf(deprecated) }));
}

function whyOffline(config: Config, model: Model): string | undefined {
  const reason = offlineReason(model, config);
  return reason === undefined ? undefined : `The model ${model.id} is offline: ${reason}.`;
}
