/** Catalogue: built-in and configured models, each id once, with all their names. */

import type { ModelSurroundings } from '../modelAccess.ts';
import { DECISION_MODELS } from './builtin/decision.ts';
import { EMBEDDING_MODELS } from './builtin/embedding.ts';
import { IMAGE_MODELS, UPSCALE_MODELS } from './builtin/images.ts';
import { INPAINT_MODELS } from './builtin/inpaint.ts';
import { LOCAL_VIDEO_MODELS } from './builtin/localVideo.ts';
import { MUSIC_MODELS } from './builtin/music.ts';
import { COMPATIBILITY } from './builtin/names.ts';
import { OFFLINE_AUDIO } from './builtin/offlineAudio.ts';
import { LOCAL_CUTOUT, OFFLINE_IMAGES } from './builtin/offlineImages.ts';
import { OFFLINE_SPEECH } from './builtin/offlineSpeech.ts';
import { ASR_MODELS, TTS_MODELS } from './builtin/speech.ts';
import { TEXT_MODELS } from './builtin/text.ts';
import { VIDEO_MODELS } from './builtin/video.ts';
import { MODEL_TYPES, type Model, type ModelType } from './model.ts';
import { traitsOf } from './traits.ts';
import { VOICE_CHANGERS } from './voiceChangers.ts';

export const BUILT_IN_MODELS: readonly Model[] = [
  ...VOICE_CHANGERS,
  ...TEXT_MODELS,
  ...EMBEDDING_MODELS,
  ...DECISION_MODELS,
  ...TTS_MODELS,
  ...ASR_MODELS,
  ...IMAGE_MODELS,
  LOCAL_CUTOUT,
  ...INPAINT_MODELS,
  ...UPSCALE_MODELS,
  ...OFFLINE_IMAGES,
  ...MUSIC_MODELS,
  ...OFFLINE_AUDIO,
  ...OFFLINE_SPEECH,
  ...VIDEO_MODELS,
  ...LOCAL_VIDEO_MODELS,
];

/** Built-in models first, then configured ones; a configured model replaces the built-in one of the same id. */
export function mergeModels(configured: readonly Model[]): Model[] {
  const replaced = new Set(configured.map((model) => model.id));
  return [...BUILT_IN_MODELS.filter((model) => !replaced.has(model.id)), ...configured];
}

/** Names of one type of model, each with its id. */
type Names = Readonly<Record<ModelType, ReadonlyMap<string, string>>>;

export interface Catalogue {
  models: readonly Model[];
  byId: ReadonlyMap<string, Model>;
  /** Ids by loose spelling, where it is unique. */
  bySpelling: ReadonlyMap<string, string>;
  /** Aliases: published ones, and the `aliases` of configured models. */
  compatibility: Names;
  /** Traits (`default`, `fastest`, …), each with the model that has it (MODEL-16). */
  traits: Names;
}

/** `surroundings`: tells which models are online. Left out: all count as online. */
export function createCatalogue(models: readonly Model[], surroundings?: ModelSurroundings): Catalogue {
  const byId = new Map(models.map((model) => [model.id, model]));
  return {
    models,
    byId,
    bySpelling: spellingsOf(models),
    compatibility: namesOf((type) => [
      ...Object.entries(COMPATIBILITY[type] ?? {}).filter(([, id]) => byId.get(id)?.type === type),
      ...aliasesOf(models, type),
    ]),
    traits: namesOf((type) =>
      traitsOf(
        models.filter((model) => model.type === type),
        surroundings,
      ),
    ),
  };
}

/** Replaces `.`, `_` and spaces, which people write in an id, by `-` (MODEL-7). */
export function spellingOf(name: string): string {
  return name.replaceAll(/[._ ]/g, '-');
}

function spellingsOf(models: readonly Model[]): Map<string, string> {
  const spellings = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id } of models) {
    const spelling = spellingOf(id);
    if (taken.has(spelling)) spellings.delete(spelling);
    else spellings.set(spelling, id);
    taken.add(spelling);
  }
  return spellings;
}

function namesOf(rows: (type: ModelType) => [string, string][]): Names {
  const names = MODEL_TYPES.map((type) => [type, new Map(rows(type))] as const);
  return Object.fromEntries(names) as Record<ModelType, Map<string, string>>;
}

function aliasesOf(models: readonly Model[], type: ModelType): [string, string][] {
  return models
    .filter((model) => model.type === type)
    .flatMap(({ id, aliases = [] }) => aliases.map((alias): [string, string] => [alias, id]));
}
