/** Finds the model that a request names, or the documented refusal. */
import type { Caller } from '../domain/caller.ts';
import { findModel } from '../domain/catalogue/catalogue.ts';
import type { Model, VoiceChangerModel } from '../domain/catalogue/model.ts';
import { FareboxError } from '../domain/errors.ts';
import { isAllowed, isInScope, isOffline } from '../domain/modelAccess.ts';
import type { Config } from '../infra/config/config.ts';

export function requireModel(config: Config, id: string): Model {
  const model = findModel(config.models, id);
  if (!model) throw new FareboxError({ code: 'model_not_found', message: 'Specified model not found' });
  return model;
}

/** A voice-changer model by its id; any other model is the wrong one for these routes (400). */
export function requireVoiceChanger(config: Config, id: string): VoiceChangerModel {
  // A model of another type that the operator configured is known, only not for this.
  if (config.unservedModels.some((entry) => entry.id === id)) throw wrongModel();
  const model = requireModel(config, id);
  if (model.kind === 'voice-changer') return model;
  throw wrongModel();
}

function wrongModel(): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: 'Invalid request parameters',
    fields: { model: ['This endpoint takes voice-changer models only'] },
  });
}

/** Refuses a model that cannot be called now (503), or not with this key (403). */
export function requireCallable(config: Config, model: Model, caller: Caller): void {
  if (!isInScope(model, caller.models)) {
    const message = `This API key may not call the model ${model.id}: it was made for other models only`;
    throw new FareboxError({ code: 'forbidden', message });
  }
  if (!isAllowed(model, caller.modelPrivacy)) {
    const message = `This API key's modelPrivacy setting (${caller.modelPrivacy}) does not allow the model ${model.id}`;
    throw new FareboxError({ code: 'forbidden', message });
  }
  if (isOffline(model, config.providers, (name) => config.secret(name) !== undefined)) {
    const message = `The model ${model.id} is offline: its provider "${model.provider}" is not configured.`;
    throw new FareboxError({ code: 'model_offline', message });
  }
}
