/** Parses the header block of a multipart part (RFC 7578) strictly: ambiguous headers are refused. */

export interface PartHead {
  name: string;
  /** Undefined: a text field. Browsers send an empty name when no file was chosen. */
  filename: string | undefined;
  contentType: string | undefined;
}

const HEADER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}):([^\r\n]*)$/;
const PARAMETER = /;[ \t]*([A-Za-z0-9*_-]{1,32})=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"\\]+))[ \t]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;
const PLAIN_ENCODINGS = new Set(['7bit', '8bit', 'binary']);

/** Head of the part; undefined when the block is malformed or uses an unsupported feature. */
export function parsePartHead(block: Buffer): PartHead | undefined {
  const headers = new Map<string, string>();
  for (const line of block.toString('utf8').split('\r\n')) {
    const match = HEADER.exec(line);
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || headers.has(name) || CONTROL.test(line)) return undefined;
    headers.set(name, (match?.[2] ?? '').trim());
  }
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase();
  if (encoding !== undefined && !PLAIN_ENCODINGS.has(encoding)) return undefined;
  const disposition = parseDisposition(headers.get('content-disposition') ?? '');
  return disposition && { ...disposition, contentType: headers.get('content-type') };
}

function parseDisposition(value: string): Omit<PartHead, 'contentType'> | undefined {
  const kind = 'form-data';
  if (value.slice(0, kind.length).toLowerCase() !== kind) return undefined;
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = kind.length;
  while (PARAMETER.lastIndex < value.length) {
    const match = PARAMETER.exec(value);
    const key = match?.[1]?.toLowerCase();
    if (key === undefined || parameters.has(key)) return undefined;
    parameters.set(key, match?.[2]?.replace(/\\(.)/g, '$1') ?? match?.[3] ?? '');
  }
  const name = parameters.get('name');
  if (name === undefined || name === '') return undefined;
  return { name, filename: parameters.get('filename') ?? parameters.get('filename*') };
}
