/** Consent that some models need before they get faces (VIDEO-7). */
import type { VideoFields } from '../../domain/generation/videoFields.ts';
import type { VideoNeeds } from '../../domain/generation/videoNeeds.ts';
import type { Config } from '../../infra/config/config.ts';
import { type Answer, json } from '../http/answer.ts';

/** Version of the consent text, recorded with each order; a change of the text is a new version. */
export const CONSENT_VERSION = 'seedance-2026-11-01';

const POLICY_TEXT =
  'The media of this order may show faces. By confirming you agree to the terms and the privacy policy of the service ' +
  'that generates the video, you declare that you have the legal right to use the likeness of every person shown, and ' +
  'you acknowledge that the media are screened before they are used and that an order may be refused for what is found.';

type FaceRole = 'image' | 'end_image' | 'reference_image' | 'video' | 'reference_video';

/** Fields of the order that may show a face, as named in the answer. */
function faceRolesOf(fields: VideoFields): FaceRole[] {
  const rows: [FaceRole, unknown][] = [
    ['image', fields.image_url],
    ['end_image', fields.end_image_url],
    ['reference_image', fields.reference_image_urls],
    ['video', fields.video_url],
    ['reference_video', fields.reference_video_urls],
  ];
  return rows.filter(([, value]) => value !== undefined).map(([role]) => role);
}

export type Consent =
  | { needed: false }
  | { needed: true; given: true; version: string }
  | { needed: true; given: false; answer: Answer };

export function consentTo(needs: VideoNeeds, fields: VideoFields, { publicUrl }: Config): Consent {
  const flow = needs.inputs.consent;
  const roles = faceRolesOf(fields);
  if (flow === undefined || roles.length === 0) return { needed: false };
  if (fields.consents?.[flow] !== undefined) return { needed: true, given: true, version: CONSENT_VERSION };
  const message = 'This model needs a consent before media that may show faces are sent to it';
  const body = {
    error: { code: 'needs_consent', message },
    consent_flow: flow,
    face_media_roles: roles,
    consent: { consent_version: CONSENT_VERSION, policy_text: POLICY_TEXT },
    docs_url: `${publicUrl}/docs`,
  };
  return { needed: true, given: false, answer: json(body, { status: 409 }) };
}
