/** Measures a medium of a video order as the kind that its field requires. A refusal names the field. */
import { stat } from 'node:fs/promises';
import { fieldOf, kindOfRole, type MeasuredMedium, type MediaPlace } from '../../domain/generation/media.ts';
import type { AudioLimits, DocumentLimits, MediaLimits } from '../../domain/generation/mediaLimits.ts';
import { billableSeconds } from '../../domain/pricing.ts';
import { inspector } from './inspector.ts';
import { measureAudio } from './measureAudio.ts';
import { measureImage } from './measureImage.ts';
import { measureVideo } from './measureVideo.ts';
import type { MediaTools } from './mediaTools.ts';
import { invalidMedia, type MediaRefusal, refuseSize, tooLongRefusal } from './refusal.ts';

export interface MediumRequest {
  path: string;
  /** Limits for the kind of the place, such as `limitsOfRole(place.role)`. Others are a programming error. */
  limits: MediaLimits;
  signal?: AbortSignal | undefined;
}

/** The caller already knows size and checksum. */
type MediumFound = Omit<MeasuredMedium, 'sizeBytes' | 'sha256'>;
/** `fields` as in an error body (API-8). */
type MediumRefusal = MediaRefusal & { fields: Record<string, string[]> };
export type MediumOutcome = { ok: true; medium: MediumFound } | MediumRefusal;

type MediumFacts = Omit<MediumFound, keyof MediaPlace | 'kind'>;
type KindOutcome = { ok: true; found: MediumFacts } | MediaRefusal;

/** Rejects only on abort, when the tools do not work, or when the limits are of another kind. */
export async function measureMedium(
  tools: MediaTools,
  place: MediaPlace,
  request: MediumRequest,
): Promise<MediumOutcome> {
  const kind = kindOfRole(place.role);
  if (request.limits.kind !== kind) throw new TypeError(`limits of ${request.limits.kind} for ${place.role}`);
  const outcome = await measure(tools, request);
  if (!outcome.ok) {
    const field = fieldOf(place);
    return { ...outcome, message: `${field}: ${outcome.message}`, fields: { [field]: [outcome.message] } };
  }
  return { ok: true, medium: { ...place, kind, ...outcome.found } };
}

async function measure(tools: MediaTools, { limits, path, signal }: MediumRequest): Promise<KindOutcome> {
  switch (limits.kind) {
    case 'image': {
      const outcome = await measureImage(tools, { ...limits, path, signal });
      return outcome.ok ? { ok: true, found: outcome.image } : outcome;
    }
    case 'video': {
      const outcome = await measureVideo(tools, { ...limits, path, signal });
      if (!outcome.ok) return outcome;
      const { audioSeconds: _, ...found } = outcome.video;
      return { ok: true, found };
    }
    case 'audio':
      return await measureSound(tools, limits, { path, signal });
    case 'document':
      return await checkDocument(limits, { path, signal });
  }
}

interface MediumFile {
  path: string;
  signal: AbortSignal | undefined;
}

async function measureSound(tools: MediaTools, limits: AudioLimits, given: MediumFile): Promise<KindOutcome> {
  const unfit = refuseSize('The audio', (await stat(given.path)).size, limits.maxBytes);
  if (unfit) return unfit;
  const { accepted, maxSeconds } = limits;
  const { path, signal } = given;
  const outcome = await measureAudio(tools, { path, accepted, maxSeconds, ...(signal && { signal }) });
  if (!outcome.ok) return outcome;
  const { contentType, demuxer, decodedSeconds, lossy } = outcome.audio;
  // MP3 decodes to slightly more than its length. The encoder's padding must not make it too long.
  if (billableSeconds(decodedSeconds, lossy) > maxSeconds) return tooLongRefusal('The audio', maxSeconds);
  return { ok: true, found: { contentType, demuxer, seconds: decodedSeconds } };
}

/** Checks type and size only. The content is left to the service that reads it. */
async function checkDocument({ maxBytes }: DocumentLimits, { path, signal }: MediumFile): Promise<KindOutcome> {
  const unfit = refuseSize('The document', (await stat(path)).size, maxBytes);
  if (unfit) return unfit;
  const contentType = await inspector.inspect('document', path);
  signal?.throwIfAborted();
  if (contentType !== undefined) return { ok: true, found: { contentType } };
  return invalidMedia('The document is not accepted. Accepted formats: PDF, DOCX, PPTX, XLSX, plain text.');
}
