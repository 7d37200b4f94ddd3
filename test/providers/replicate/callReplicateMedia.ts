/** The adapter of what is waited for, with short patience. */
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createReplicateMedia } from '../../../providers/replicate/media/replicateMedia.ts';
import type { MediaProvider } from '../../../providers/shared/mediaProvider.ts';
import type { ReplicateStub } from '../../stubs/replicate/replicate.ts';

/** All but the cloning of voices, which it does not have. */
export type ReplicateMedia = Required<Omit<MediaProvider, 'cloneVoice' | 'readsAll'>>;

export function replicateMedia(stub: Pick<ReplicateStub, 'apiKey' | 'baseUrl' | 'deliveryUrl'>): ReplicateMedia {
  const guardedFetch = createGuardedFetch({
    allowPrivateHosts: [new URL(stub.deliveryUrl).host],
    failureFloorMs: 1,
  });
  return createReplicateMedia({
    apiKey: stub.apiKey,
    baseUrl: stub.baseUrl,
    allowPrivateNetwork: true,
    timeouts: { connectMs: 1_000, firstByteMs: 400, idleMs: 400 },
    guardedFetch,
  }) as ReplicateMedia;
}
