import type { PublishedModels } from '../../domain/providerKind.ts';

export const REPLICATE_MODELS: PublishedModels = {
  'ace-step-15': 'fishaudio/ace-step-1.5',
  'runway-gen4-5': 'runwayml/gen-4.5',
};
