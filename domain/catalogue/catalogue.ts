/** The catalogue: the built-in models and those of the configuration, each id once. */
import type { Model } from './model.ts';
import { VOICE_CHANGERS } from './voiceChangers.ts';

export const BUILT_IN_MODELS: readonly Model[] = [...VOICE_CHANGERS];

/** Built-in models first, then configured ones; a configured model replaces the built-in one of the same id. */
export function mergeModels(configured: readonly Model[]): Model[] {
  const replaced = new Set(configured.map((model) => model.id));
  return [...BUILT_IN_MODELS.filter((model) => !replaced.has(model.id)), ...configured];
}

export function findModel(models: readonly Model[], id: string): Model | undefined {
  return models.find((model) => model.id === id);
}
