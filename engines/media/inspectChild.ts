/** Entry point of the inspection child: one file at a time, by message. It ends with its parent. */
import { denyNetwork } from '../child/denyNetwork.ts';
import { inspectDocument } from './inspectDocument.ts';
import { inspectFile } from './inspectFile.ts';
import { inspectImage } from './inspectImage.ts';
import type { Inspections } from './inspector.ts';
import { inspectVideo } from './inspectVideo.ts';

type View = keyof Inspections;

const VIEWS: { [Each in View]: (path: string) => Inspections[Each] | Promise<Inspections[Each]> } = {
  audio: inspectFile,
  image: inspectImage,
  video: inspectVideo,
  document: inspectDocument,
};

denyNetwork();
process.on('disconnect', () => process.exit(0));
process.on('message', ({ view, path, file }: { view: View; path: string; file: number }) => {
  inspect(view, path).then(
    (inspection) => process.send?.({ file, inspection }),
    () => process.send?.({ file, inspection: undefined }),
  );
});
process.send?.('ready');

async function inspect(view: View, path: string): Promise<Inspections[View]> {
  return await VIEWS[view](path);
}
