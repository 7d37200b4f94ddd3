/** Video routes (VIDEO-1 to VIDEO-9). */

import type { Route } from '../http/route.ts';
import { defineCompleteRoute, defineRetrieveRoute } from '../queue/jobRoutes.ts';
import { deleteDownloadRoute, downloadRoute } from './downloads.ts';
import { VIDEO_DESCRIPTIONS } from './openapi.ts';
import { queueRoute } from './queue.ts';
import { quoteRoute } from './quote.ts';

const kind = 'video';

export const VIDEO_ROUTES: readonly Route[] = [
  quoteRoute,
  queueRoute,
  defineRetrieveRoute({ kind, path: '/video/retrieve', describes: VIDEO_DESCRIPTIONS.retrieve }),
  defineCompleteRoute({ kind, path: '/video/complete', describes: VIDEO_DESCRIPTIONS.complete }),
  downloadRoute,
  deleteDownloadRoute,
];
