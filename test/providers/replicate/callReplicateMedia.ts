/** Adapter for synchronous media, with short timeouts on request. */
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createReplicateMedia } from '../../../providers/replicate/media/replicateMedia.ts';
import type { MediaProvider } from '../../../providers/shared/mediaProvider.ts';
import type { ReplicateStub } from '../../stubs/replicate/replicate.ts';
import { LONG_TIMEOUTS } from '../../stubs/timeouts.ts';

/** All operations but voice cloning, which the service does not have. */
export type ReplicateMedia = Required<Omit<MediaProvider, 'cloneVoice' | 'readsAll'>>;

export function replicateMedia(
  stub: Pick<ReplicateStub, 'apiKey' | 'baseUrl' | 'deliveryUrl'>,
  timeouts = LONG_TIMEOUTS,
): ReplicateMedia {
  const guardedFetch = createGuardedFetch({
    allowPrivateHosts: [new URL(stub.deliveryUrl).host],
    failureFloorMs: 1,
  });
  return createReplicateMedia({
    apiKey: stub.apiKey,
    baseUrl: stub.baseUrl,
    allowPrivateNetwork: true,
    timeouts,
    guardedFetch,
  }) as ReplicateMedia;
}
