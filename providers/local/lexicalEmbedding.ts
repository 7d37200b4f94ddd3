/** The embedding model of our own, which is none: engines/text embeds words and parts of words. */
import { DEFAULT_DIMENSIONS, MAX_DIMENSIONS, MAX_NUMBERS } from '../../domain/text/lexicalEmbedding.ts';
import { estimateInTurns } from '../../engines/text/estimateInTurns.ts';
import { createLexicalEmbedder } from '../../engines/text/lexicalEmbedder.ts';
import type { TextProvider } from '../shared/textProvider.ts';

export function createLexicalEmbedding(): TextProvider {
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
