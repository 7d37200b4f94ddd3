/** Entry point of the document child: reads one document per message. Exits with its parent. */
import { readFile, writeFile } from 'node:fs/promises';
import { denyNetwork } from '../child/denyNetwork.ts';
import { type DocumentAnswer, type DocumentQuestion, INPUT_FILE, TEXT_FILE } from './childWords.ts';
import { UnreadableDocument } from './document.ts';
import { readDocument } from './readDocument.ts';

/** Above this resident size the child is replaced before the next document. */
const WORN_BYTES = 300 * 1024 * 1024;

denyNetwork();
process.on('disconnect', () => process.exit(0));
process.on('message', (question: DocumentQuestion & { file: number }) => {
  void answer(question).then((said) => {
    const worn = process.memoryUsage.rss() > WORN_BYTES;
    process.send?.({ ...said, file: question.file, worn } satisfies DocumentAnswer);
  });
});
process.send?.('ready');

async function answer({ folder, hints }: DocumentQuestion): Promise<Omit<DocumentAnswer, 'file'>> {
  try {
    const reading = await readDocument(await readFile(`${folder}/${INPUT_FILE}`), hints);
    if (reading.kind === 'image') return { reading };
    const { text, ...about } = reading;
    await writeFile(`${folder}/${TEXT_FILE}`, text);
    return { reading: about };
  } catch (error) {
    if (error instanceof UnreadableDocument) return { refusal: error.refusal, detail: error.message };
    // Parser errors only mean that the file is damaged. Their messages are dropped because they may quote the file.
    return { refusal: 'damaged', detail: error instanceof Error ? error.name : 'unknown' };
  }
}
