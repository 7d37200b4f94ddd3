/** Entry point of the inspection child: one file at a time, by message. It ends with its parent. */
import { inspectFile } from './inspectFile.ts';

process.on('disconnect', () => process.exit(0));
process.on('message', ({ path, file }: { path: string; file: number }) => {
  inspectFile(path).then(
    (inspection) => process.send?.({ file, inspection }),
    () => process.send?.({ file, inspection: undefined }),
  );
});
process.send?.('ready');
