/** Chooses the model of each trait (MODEL-16). */
import { isOffline, type ModelSurroundings } from '../modelAccess.ts';
import { findProvider } from '../providerKind.ts';
import type { Model } from './model.ts';
import type { CapabilityFlag } from './specs.ts';

/**
 * Pairs of a trait and the id of its model, for the models of one type. When several models claim a trait, the last one
 * that is online has it. Without `surroundings` all models count as online.
 */
export function traitsOf(models: readonly Model[], surroundings?: ModelSurroundings): [string, string][] {
  const claimed = new Set(models.flatMap((model) => model.listing?.traits ?? []));
  return [...claimed].flatMap((trait): [string, string][] => {
    const claimants = models.filter((model) => model.listing?.traits?.includes(trait));
    const holder = surroundings === undefined ? undefined : onlineHolder(trait, { claimants, models, surroundings });
    const chosen = holder ?? claimants.at(-1);
    return chosen === undefined ? [] : [[trait, chosen.id]];
  });
}

interface TraitChoice {
  claimants: readonly Model[];
  models: readonly Model[];
  surroundings: ModelSurroundings;
}

function onlineHolder(trait: string, { claimants, models, surroundings }: TraitChoice): Model | undefined {
  const isOnline = (model: Model) => !isOffline(model, surroundings);
  const claimant = claimants.findLast(isOnline);
  const suits = SUBSTITUTES[trait];
  if (claimant !== undefined || suits === undefined) return claimant;
  const [substitute] = models
    .filter((model) => isLasting(model) && !isCutout(model) && suits(model) && isOnline(model))
    .sort((left, right) => rankOf(left, surroundings) - rankOf(right, surroundings));
  return substitute;
}

const supports = (flag: CapabilityFlag) => (model: Model) =>
  model.kind === 'text' && model.spec.capabilities?.[flag] === true;
const anyModel = () => true;

/** Models that may replace an offline one. Other traits compare models, so another model cannot have them. */
const SUBSTITUTES: Partial<Record<string, (model: Model) => boolean>> = {
  default: anyModel,
  'eliza-default': anyModel,
  default_code: anyModel,
  default_reasoning: supports('supportsReasoning'),
  default_vision: supports('supportsVision'),
  function_calling_default: supports('supportsFunctionCalling'),
};

function isLasting(model: Model): boolean {
  return model.listing?.deprecation === undefined;
}

/** A cutout is published as an image model, but makes no pictures from prompts. */
function isCutout(model: Model): boolean {
  return model.kind === 'image' && model.imageUse === 'cutout';
}

/** Services come first, then programs of this machine, then simulations. */
function rankOf({ provider }: Model, surroundings: ModelSurroundings): number {
  const kind = findProvider(surroundings, provider)?.kind;
  if (kind?.isSimulated) return 2;
  return kind?.isLocal ? 1 : 0;
}
