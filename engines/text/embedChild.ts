/** Entry point of the child that embeds texts: one batch per message. Exits with its parent. */
import { embedText } from '../../domain/text/lexicalEmbedding.ts';
import { denyNetwork } from '../child/denyNetwork.ts';
import type { EmbedAnswer, EmbedQuestion } from './lexicalEmbedder.ts';

denyNetwork();
process.on('disconnect', () => process.exit(0));
process.on('message', ({ file, inputs, dimensions }: EmbedQuestion & { file: number }) => {
  const vectors = inputs.map((input) => embedText(input, dimensions));
  process.send?.({ file, vectors } satisfies EmbedAnswer);
});
process.send?.('ready');
