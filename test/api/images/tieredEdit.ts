/** An edit model with several ratios and resolutions that takes several pictures. */
import { DEFAULT_CREATED, type InpaintModel } from '../../../domain/catalogue/model.ts';

const price = (usd: number) => ({ usd, diem: usd });
export const TIERED_EDIT: InpaintModel = {
  ...{ id: 'tiered-edit', name: 'Tiered', provider: 'local', upstreamModel: 'tiered', privacy: 'private' },
  ...{ kind: 'inpaint', type: 'inpaint', description: '', modelSource: '', created: DEFAULT_CREATED },
  spec: {
    constraints: {
      aspectRatios: ['auto', '4:3', '1:1', '16:9'],
      promptCharacterLimit: 100,
      maxInputImages: 5,
    },
    pricing: {
      inpaint: price(0.1),
      resolutions: { '1K': price(0.1), '2K': price(0.2) },
      inputImages: { included: 1, additional: price(0.01) },
    },
  },
};
