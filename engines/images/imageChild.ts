/** Entry point of the image child: executes one task per message. Exits with its parent. */
import type { ImageAnswer, ImageQuestion } from './childWords.ts';
import { ImageRefusal } from './imageRefusal.ts';
import { IMAGE_TASKS } from './imageTasks.ts';

/** Above this resident size the child is replaced. Twelve megapixels leave 350 MB, which is still normal. */
const WORN_BYTES = 500 * 1024 * 1024;

// A normal exit would wait for the image that a thread is still decoding.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', (question: ImageQuestion & { file: number }) => {
  void answer(question).then((said) => {
    const worn = process.memoryUsage.rss() > WORN_BYTES;
    process.send?.({ ...said, file: question.file, worn } satisfies ImageAnswer);
  });
});
process.send?.('ready');

async function answer({ task, input }: ImageQuestion): Promise<Omit<ImageAnswer, 'file'>> {
  try {
    // The parent pairs each task with its type of input.
    const work = IMAGE_TASKS[task] as (input: unknown) => Promise<ImageAnswer['result'] & object>;
    return { result: await work(input) };
  } catch (error) {
    if (error instanceof ImageRefusal) {
      return { refusal: { code: error.code, fault: error.fault, detail: error.message } };
    }
    return { broken: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}
