/** Objects that the workflow of an audio or video order needs: the sealed order, and the media that came with it. */
import { failpoint } from '../../infra/failpoints.ts';
import { mediaKey, sealedOrderKey } from '../../infra/s3/objectKeys.ts';
import type { Dependencies } from '../dependencies.ts';
import type { OrderParts } from './placeOrder.ts';

/** Medium of the request; `index` is its number in the order. */
export interface RequestMedium {
  index: number;
  bytes: Buffer;
  sha256: string;
}

const TOGETHER_BYTES = 1024 * 1024;

export interface SealedOrderContent {
  sealed: string;
  /** Whether the order has media, which are measured before it is charged. */
  isMeasured: boolean;
  /** Media of the request. */
  media: readonly RequestMedium[];
}

export function sealedParts(
  { jobs: { storage } }: Pick<Dependencies, 'jobs'>,
  { sealed, isMeasured, media }: SealedOrderContent,
): OrderParts {
  const sizeBytes = media.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return {
    // No step reads the order before the charge when it has no media: it must be stored first, or it could never be
    // made.
    together: isMeasured && sizeBytes <= TOGETHER_BYTES,
    async put(queueId) {
      await failpoint('source-begun');
      await Promise.all([
        storage.putBytes(sealedOrderKey(queueId), Buffer.from(sealed), { contentType: 'application/json' }),
        ...media.map(({ index, bytes, sha256 }) =>
          storage.putBytes(mediaKey(queueId, index), bytes, {
            contentType: 'application/octet-stream',
            sha256,
          }),
        ),
      ]);
      await failpoint('source-stored');
    },
    async remove(queueId) {
      await Promise.all([
        storage.remove(sealedOrderKey(queueId)),
        ...media.map(({ index }) => storage.remove(mediaKey(queueId, index))),
      ]);
    },
  };
}
