import { z } from 'zod';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { mediaAtAddresses } from '../shared/serviceAddresses.ts';
import { callingService } from '../shared/settings.ts';
import { createReplicateMedia } from './media/replicateMedia.ts';
import { REPLICATE_MODELS } from './publishedModels.ts';
import { createReplicate } from './replicate.ts';

const settings = strictObject({ kind: z.literal('replicate'), ...callingService });

export const replicate: ProviderDefinition<z.output<typeof settings>> = {
  kind: 'replicate',
  settings,
  keyVariable: 'REPLICATE_API_TOKEN',
  serves: ['music', 'video', 'image', 'inpaint', 'upscale', 'asr', 'tts'],
  publishedModels: () => REPLICATE_MODELS,
  open(entry) {
    const { addresses, deadlineMs, guardedFetch } = entry;
    return {
      media: () => mediaAtAddresses(entry, (access) => createReplicateMedia({ ...access, guardedFetch })),
      queue: () => createReplicate({ ...addresses[0].access, deadlineMs, guardedFetch }),
    };
  },
};
