/** POST /v1/voices/add: a voice from a recording, at once. */
import { randomUUID } from 'node:crypto';
import { UpstreamFailure } from '../../../domain/text/upstreamFailure.ts';
import type { TextCall } from '../../../infra/http/textHttp.ts';
import type { VoiceSample } from '../../shared/mediaProvider.ts';
import { recordingPart } from '../../shared/recordingUpload.ts';
import { garbage, isFields } from '../../shared/textFailures.ts';
import { pathVoice } from '../plannedCall.ts';

export function cloneCall({ recording }: VoiceSample): Pick<TextCall, 'path' | 'multipart'> {
  // The account lists its voices by name; ours says whose it is to nobody.
  const fields = { name: `farebox-${randomUUID()}` };
  return { path: '/v1/voices/add', multipart: { fields, files: [recordingPart('files', recording)] } };
}

export function readVoice(json: unknown): string {
  if (!isFields(json) || typeof json.voice_id !== 'string') throw garbage('no voice');
  if (pathVoice(json.voice_id)?.id !== json.voice_id) throw garbage('a voice without a usable id');
  if (json.requires_verification === true) {
    const message = 'The speaker has to confirm the voice to the service before it can be used.';
    throw new UpstreamFailure({ reason: 'refused', detail: 'the voice requires verification', message });
  }
  return json.voice_id;
}
