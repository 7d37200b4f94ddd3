/** POST /audio/voice-changer/retrieve and /complete. */
import { completeRouteOf, retrieveRouteOf } from '../queue/jobRoutes.ts';
import { VOICE_CHANGER_DESCRIPTIONS } from './openapi.ts';

const kind = 'voice-changer';

export const retrieveVoiceChangeRoute = retrieveRouteOf({
  kind,
  path: '/audio/voice-changer/retrieve',
  describes: VOICE_CHANGER_DESCRIPTIONS.retrieve,
});

export const completeVoiceChangeRoute = completeRouteOf({
  kind,
  path: '/audio/voice-changer/complete',
  describes: VOICE_CHANGER_DESCRIPTIONS.complete,
});
