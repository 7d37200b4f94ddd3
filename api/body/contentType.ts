/** Kind of body by Content-Type. */

export type BodyKind = { kind: 'json' } | { kind: 'multipart'; boundary: string | undefined } | { kind: 'other' };

const JSON_KIND: BodyKind = { kind: 'json' };
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json$/;
const PARAMETER = /;[ \t]*([a-z0-9_-]{1,32})=(?:"([^"\\]*)"|([^\s;"]+))[ \t]*/giy;
/** RFC 2046: 1 to 70 characters, not ending with a space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

export function bodyKind(contentType: string | undefined): BodyKind {
  // Fast path for the value that nearly every client sends (bench `front`).
  if (contentType === 'application/json') return JSON_KIND;
  const value = (contentType ?? '').slice(0, 512);
  const type = (value.split(';', 1)[0] ?? '').trim().toLowerCase();
  const parameters = parseParameters(value);
  if (type === 'multipart/form-data') {
    const boundary = parameters?.get('boundary') ?? '';
    return { kind: 'multipart', boundary: BOUNDARY.test(boundary) ? boundary : undefined };
  }
  const charset = parameters?.get('charset')?.toLowerCase() ?? 'utf-8';
  return JSON_TYPE.test(type) && (charset === 'utf-8' || charset === 'utf8') ? JSON_KIND : { kind: 'other' };
}

function parseParameters(value: string): Map<string, string> | undefined {
  const parameters = new Map<string, string>();
  const start = value.indexOf(';');
  if (start < 0) return parameters;
  PARAMETER.lastIndex = start;
  while (PARAMETER.lastIndex < value.length) {
    const match = PARAMETER.exec(value);
    const key = match?.[1]?.toLowerCase();
    if (key === undefined || parameters.has(key)) return undefined;
    parameters.set(key, match?.[2] ?? match?.[3] ?? '');
  }
  return parameters;
}
