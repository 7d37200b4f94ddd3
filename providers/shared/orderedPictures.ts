import { UpstreamFailure } from '../../domain/text/upstreamFailure.ts';
import { allOrNone } from './mediaFailures.ts';
import type { ImageOrder } from './mediaProvider.ts';
import { garbage } from './textFailures.ts';

type Work<Picture> = (signal: AbortSignal) => Promise<readonly Picture[]>;

/** As many as were ordered, by whatever works that takes; all of them, or the failure of one. */
export async function orderedPictures<Picture>(
  { styleReferences, count }: Pick<ImageOrder, 'styleReferences' | 'count'>,
  works: () => readonly Work<Picture>[],
  signal: AbortSignal,
): Promise<Picture[]> {
  if (styleReferences.length > 0) {
    const message = 'The model takes no style references.';
    throw new UpstreamFailure({ reason: 'refused', detail: 'not ordered: style references', message });
  }
  const pictures = (await allOrNone(works(), signal)).flat();
  if (pictures.length < count) throw garbage(`${pictures.length} pictures where ${count} were ordered`);
  return pictures.slice(0, count);
}
