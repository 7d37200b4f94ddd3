/**
 * An audio or video order as it lies in storage while its job runs: what a user wrote and named enters no history. The API
 * writes it, the workers read it.
 */
import type { AudioOrder } from './audioOrder.ts';
import type { MediaPlace } from './media.ts';
import type { VideoOrder } from './videoOrder.ts';

export interface SealedOrder {
  order: AudioOrder | VideoOrder;
  /** The n-th has its bytes under number n, those of a URL as soon as they were fetched. */
  media: readonly SealedMedium[];
}

/** Named by its URL, or handed in with the request and stored already. */
export type SealedMedium = MediaPlace & ({ url: string } | { sizeBytes: number; sha256: string });

export function sealOrder(order: SealedOrder): string {
  return JSON.stringify(order);
}

/** Throws when the text is not one that `sealOrder` made. */
export function unsealOrder(text: string): SealedOrder {
  const found: unknown = JSON.parse(text);
  if (!isSealedOrder(found)) throw new Error('the order in storage is damaged');
  return found;
}

/** A look at the outside only: nobody but this service writes there. */
function isSealedOrder(found: unknown): found is SealedOrder {
  if (typeof found !== 'object' || found === null || !('order' in found) || !('media' in found)) return false;
  const { order, media } = found;
  return typeof order === 'object' && order !== null && 'kind' in order && Array.isArray(media);
}
