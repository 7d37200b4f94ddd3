import { childrenOf, descendant, topBoxes } from '../structure/boxes.ts';
import { FOREIGN, type ImageStructure, UPRIGHT } from './imageStructure.ts';

/** Walks the boxes; a picture is turned by a property of its own, which decoders leave to whoever shows it. */
export function walkAvif(file: Buffer): ImageStructure {
  const { boxes, cut, foreign } = topBoxes({
    size: file.length,
    bytes: (at, length) => file.subarray(at, at + length),
  });
  if (cut || foreign) return { ...UPRIGHT, cut, foreign };
  const meta = boxes.find(({ type }) => type === 'meta');
  if (meta === undefined) return FOREIGN;
  const properties = descendant(file.subarray(meta.bodyStart + 4, meta.end), ['iprp', 'ipco']);
  const turn = properties && childrenOf(properties).find(({ type }) => type === 'irot');
  const quarter = ((turn?.body[0] ?? 0) & 1) === 1;
  return { ...UPRIGHT, orientation: quarter ? 6 : 1, animated: boxes.some(({ type }) => type === 'moov') };
}
