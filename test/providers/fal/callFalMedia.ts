/** Adapter for synchronous media, and files for its orders. */
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createFalMedia } from '../../../providers/fal/media/falMedia.ts';
import type { MediaProvider } from '../../../providers/shared/mediaProvider.ts';
import type { ServiceAccess } from '../../../providers/shared/serviceAddresses.ts';
import { LONG_TIMEOUTS } from '../../stubs/timeouts.ts';

export function falMedia(own: Pick<ServiceAccess, 'apiKey' | 'baseUrl' | 'timeouts'>): Required<MediaProvider> {
  const options = {
    allowPrivateNetwork: true,
    timeouts: LONG_TIMEOUTS,
    ...own,
  };
  const guardedFetch = createGuardedFetch({ allowPrivateHosts: [], failureFloorMs: 1 });
  return createFalMedia(options, guardedFetch) as Required<MediaProvider>;
}
