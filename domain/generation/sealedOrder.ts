/**
 * Audio or video order in storage while its job runs: texts and URLs of a user enter no workflow history. The API
 * writes it, the workers read it.
 */
import type { AudioOrder } from './audioOrder.ts';
import type { MediaPlace } from './media.ts';
import type { VideoOrder } from './videoOrder.ts';

export interface SealedOrder {
  order: AudioOrder | VideoOrder;
  /** The n-th medium is stored under number n, a medium given by URL once it is fetched. */
  media: readonly SealedMedium[];
}

/** Given by a URL, or sent with the request and already stored. */
export type SealedMedium = MediaPlace & ({ url: string } | { sizeBytes: number; sha256: string });

export function sealOrder(order: SealedOrder): string {
  return JSON.stringify(order);
}

/** Throws when the text was not made by `sealOrder`. */
export function unsealOrder(text: string): SealedOrder {
  const found: unknown = JSON.parse(text);
  if (!isSealedOrder(found)) throw new Error('the order in storage is damaged');
  return found;
}

/** Checks the outer shape only: no other service writes there. */
function isSealedOrder(found: unknown): found is SealedOrder {
  if (typeof found !== 'object' || found === null || !('order' in found) || !('media' in found)) return false;
  const { order, media } = found;
  return typeof order === 'object' && order !== null && 'kind' in order && Array.isArray(media);
}
