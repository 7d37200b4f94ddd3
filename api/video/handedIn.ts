/** The media of a video order: what came as a data URL is taken apart here, what came as a URL is named to the workers. */
import { createHash } from 'node:crypto';
import { fieldOf } from '../../domain/generation/media.ts';
import type { SealedMedium } from '../../domain/generation/sealedOrder.ts';
import type { NamedMedium } from '../../domain/generation/videoFields.ts';
import { readDataUrl } from '../http/dataUrl.ts';
import { invalid } from '../http/invalid.ts';
import type { HandedIn } from '../queue/sealedParts.ts';

export interface OrderedMedia {
  sealed: SealedMedium[];
  handedIn: HandedIn[];
}

/** Throws FareboxError `invalid_request` for a data URL that is none. */
export function takeMedia(media: readonly NamedMedium[]): OrderedMedia {
  const handedIn: HandedIn[] = [];
  const sealed = media.map(({ url, ...place }, index): SealedMedium => {
    const inline = readDataUrl(url);
    if (inline === undefined) return { ...place, url };
    if (inline === 'malformed') throw invalid(fieldOf(place), 'A data URL must be base64');
    const { bytes } = inline;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    handedIn.push({ index, bytes, sha256 });
    return { ...place, sizeBytes: bytes.length, sha256 };
  });
  return { sealed, handedIn };
}
