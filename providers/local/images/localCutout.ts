/** Background removal on this machine, without a learned model: no key, no network, and the picture is sent to nobody. */
import { join } from 'node:path';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { type CutEnd, type CutterOptions, createCutter } from '../../../engines/cutout/cutter.ts';
import type { MediaProvider } from '../../shared/mediaProvider.ts';

type LocalCutout = Required<Pick<MediaProvider, 'readsAll' | 'cutOut' | 'close'>>;

export function createLocalCutout(options?: CutterOptions): LocalCutout {
  const cutter = createCutter(options);
  return {
    readsAll: true,
    async cutOut({ image }, { workFolder, signal }) {
      const path = join(workFolder, 'cutout.png');
      const end = await cutter.cut({ sourcePath: image.path, outputPath: path }, signal);
      if (end.end === 'cut') return { path, contentType: 'image/png' };
      throw failureOf(end);
    },
    close: async () => cutter.close(),
  };
}

const WORDS = {
  undecodable: 'The image is damaged or incomplete and cannot be read.',
  transparent: 'The image is transparent all over: there is nothing in it to cut out.',
  no_subject:
    'No subject was found in the image: nothing in it differs clearly from its background. Try a picture in which ' +
    'the subject stands out, or another model.',
};

function failureOf({ end, detail }: Exclude<CutEnd, { end: 'cut' }>): UpstreamFailure {
  if (end === 'failed') return new UpstreamFailure({ reason: 'failed', detail: `cutout: ${detail}` });
  return new UpstreamFailure({ reason: 'refused', detail: `cutout: ${end}: ${detail}`, message: WORDS[end] });
}
