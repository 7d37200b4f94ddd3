import { z } from 'zod';
import type { ModelKind } from '../../domain/catalogue/model.ts';
import { LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import type { LocalPrograms } from '../../domain/providerKind.ts';
import { DEFAULT_DIMENSIONS, MAX_DIMENSIONS, MAX_NUMBERS } from '../../domain/text/lexicalEmbedding.ts';
import { estimateInTurns } from '../../engines/text/estimateInTurns.ts';
import { createLexicalEmbedder } from '../../engines/text/lexicalEmbedder.ts';
import { strictObject } from '../../infra/config/schema/primitives.ts';
import type { ProviderDefinition } from '../shared/providerDefinition.ts';
import { limits } from '../shared/settings.ts';
import type { TextProvider } from '../shared/textProvider.ts';
import { createLocalImages } from './images/localImages.ts';
import { createLocalProvider } from './localProvider.ts';
import { localSpeaker } from './speechSync.ts';
import { localTranscriber } from './transcribe.ts';

const settings = strictObject({ kind: z.literal('local'), limits });

/** Programs and libraries of this machine; needs no key and no network. */
export const local: ProviderDefinition<z.output<typeof settings>> = {
  kind: 'local',
  settings,
  isBuiltIn: true,
  isLocal: true,
  lacksClassifier: true,
  voices: LOCAL_VOICE_CHANGER.voices,
  serves: ['voice-changer', 'music', 'video', 'embedding', 'image', 'inpaint', 'upscale', 'asr', 'tts'],
  missingProgram,
  open: ({ tools }) => ({
    text: createLexicalEmbedding,
    media: (images) => ({ ...createLocalImages(images), ...localTranscriber(tools), ...localSpeaker(tools) }),
    queue: () => createLocalProvider(tools),
  }),
};

const NO_SPEECH = 'no speech synthesiser was found; install espeak-ng and set ESPEAK_PATH';
const NO_HEARING =
  'no speech recogniser was found; install pocketsphinx and pocketsphinx-en-us and set POCKETSPHINX_PATH';

function missingProgram(model: ModelKind, { espeakPath, recogniser }: LocalPrograms): string | undefined {
  if ((model === 'music' || model === 'tts') && espeakPath === undefined) return NO_SPEECH;
  return model === 'asr' && recogniser === undefined ? NO_HEARING : undefined;
}

/** Embeddings without a trained model: engines/text embeds words and parts of words. */
function createLexicalEmbedding(): TextProvider {
  const embedder = createLexicalEmbedder();
  return {
    embeddingLimits: {
      ...{ maxDimensions: MAX_DIMENSIONS, maxNumbers: MAX_NUMBERS, defaultDimensions: DEFAULT_DIMENSIONS },
    },
    async embed({ inputs, dimensions = DEFAULT_DIMENSIONS, endUser }, { signal }) {
      const vectors = await embedder.embed({ inputs, dimensions, account: endUser }, signal);
      return { vectors, promptTokens: await estimateInTurns(inputs) };
    },
    close: async () => embedder.close(),
  };
}
