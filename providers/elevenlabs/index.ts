import { z } from 'zod';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { mediaAtAddresses } from '../shared/serviceAddresses.ts';
import { limits, service } from '../shared/settings.ts';
import { createElevenLabs } from './elevenlabs.ts';
import { createElevenLabsMedia } from './media/elevenLabsMedia.ts';
import { ELEVENLABS_MODELS } from './publishedModels.ts';

const settings = strictObject({ kind: z.literal('elevenlabs'), ...service, limits });

export const elevenlabs: ProviderDefinition<z.output<typeof settings>> = {
  kind: 'elevenlabs',
  settings,
  keyVariable: 'ELEVENLABS_API_KEY',
  isBuiltIn: true,
  serves: ['voice-changer', 'music', 'asr', 'tts'],
  publishedModels: () => ELEVENLABS_MODELS,
  open: (entry) => ({
    media: () => mediaAtAddresses(entry, createElevenLabsMedia),
    queue: () => createElevenLabs(entry.addresses[0].access),
  }),
};
