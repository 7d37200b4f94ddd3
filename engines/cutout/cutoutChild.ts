/** Entry point of the child that cuts out: one picture at a time, by message. It ends with its parent. */
import sharp from 'sharp';
import type { CutAnswer, CutQuestion } from './childWords.ts';
import { CutRefused, cutOut } from './cutOut.ts';
import { openCvReady } from './grabCut.ts';

/** The next picture does not get what the last one left behind. */
const WORN_BYTES = 420 * 1024 * 1024;

// One picture at a time, on one core, and nothing kept of the last one.
sharp.concurrency(1);
sharp.cache(false);

process.on('disconnect', () => process.exit(0));
process.on('message', (question: CutQuestion & { file: number }) => {
  void answer(question).then((said) => {
    const worn = process.memoryUsage.rss() > WORN_BYTES;
    process.send?.({ ...said, file: question.file, worn } satisfies CutAnswer);
  });
});
await openCvReady();
process.send?.('ready');

async function answer({ sourcePath, outputPath }: CutQuestion): Promise<Omit<CutAnswer, 'file'>> {
  try {
    return { size: await cutOut(sourcePath, outputPath) };
  } catch (error) {
    if (error instanceof CutRefused) return { refusal: error.refusal, detail: error.message };
    return { detail: error instanceof Error ? error.message : 'unknown' };
  }
}
