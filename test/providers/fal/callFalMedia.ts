/** The adapter of what is waited for, with short patience, and what its orders need. */
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createFalMedia } from '../../../providers/fal/media/falMedia.ts';
import type { MediaProvider } from '../../../providers/shared/mediaProvider.ts';
import type { ServiceAccess } from '../../../providers/shared/serviceAddresses.ts';

export function falMedia(own: Pick<ServiceAccess, 'apiKey' | 'baseUrl'>): Required<MediaProvider> {
  const options = {
    allowPrivateNetwork: true,
    timeouts: { connectMs: 1_000, firstByteMs: 400, idleMs: 400 },
    ...own,
  };
  const guardedFetch = createGuardedFetch({ allowPrivateHosts: [], failureFloorMs: 1 });
  return createFalMedia(options, guardedFetch) as Required<MediaProvider>;
}
