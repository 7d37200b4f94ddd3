import { createHash } from 'node:crypto';

/** Strong: two answers with the same tag are the same bytes. */
export function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`;
}

/** Whether the client of a request has these very bytes: compared weakly, as RFC 9110 has it for If-None-Match. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || ifNoneMatch.trim() === '*';
}
