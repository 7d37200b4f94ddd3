import { z } from 'zod';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { mediaAtAddresses } from '../shared/serviceAddresses.ts';
import { callingService } from '../shared/settings.ts';
import { createFal } from './fal.ts';
import { createFalMedia } from './media/falMedia.ts';
import { FAL_MODELS } from './publishedModels.ts';

const settings = strictObject({ kind: z.literal('fal'), ...callingService });

/** A `baseUrl` replaces all of the service's hosts: queue, storage and keys. */
export const fal: ProviderDefinition<z.output<typeof settings>> = {
  kind: 'fal',
  settings,
  keyVariable: 'FAL_KEY',
  serves: ['music', 'video', 'image', 'inpaint', 'upscale', 'asr', 'tts'],
  publishedModels: () => FAL_MODELS,
  open: (entry) => ({
    media: () => mediaAtAddresses(entry, (access) => createFalMedia(access, entry.guardedFetch)),
    queue: () => createFal(entry.addresses[0].access, entry.guardedFetch),
  }),
};
