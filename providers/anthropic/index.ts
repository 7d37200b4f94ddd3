import { z } from 'zod';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { textAtAddresses } from '../shared/serviceAddresses.ts';
import { EITHER, hasOneAddress, textService } from '../shared/settings.ts';
import { createAnthropic } from './anthropic.ts';
import { ANTHROPIC_MODELS } from './publishedModels.ts';

const settings = strictObject({ kind: z.literal('anthropic'), ...textService }).refine(hasOneAddress, EITHER);

export const anthropic: ProviderDefinition<z.output<typeof settings>> = {
  kind: 'anthropic',
  settings,
  keyVariable: 'ANTHROPIC_API_KEY',
  serves: ['text', 'decision'],
  publishedModels: () => ANTHROPIC_MODELS,
  lacksLogprobs: true,
  chargesCacheWrites: true,
  open: (entry) => ({ text: () => textAtAddresses(entry, createAnthropic) }),
};
