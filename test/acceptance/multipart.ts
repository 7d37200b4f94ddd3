/** Builds unusual forms: repeated fields, fields without a name or type, in any order. */
import type { Call } from './client.ts';

export interface Part {
  name?: string;
  /** Set for files. */
  filename?: string;
  type?: string;
  value: string | Buffer;
}

const BOUNDARY = 'farebox-test-boundary';

export interface Spelling {
  /** Content type of the request. Default: with the boundary. */
  contentType?: string;
  /** Closing text. Undefined leaves the form open. */
  end?: string;
}

export function multipart(
  parts: readonly Part[],
  { contentType = `multipart/form-data; boundary=${BOUNDARY}`, end = `--${BOUNDARY}--\r\n` }: Spelling = {},
): Call {
  const pieces = parts.flatMap(({ name, filename, type, value }) => {
    const named = name === undefined ? '' : `; name="${name}"`;
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data${named}${file}\r\n${typed}\r\n`;
    return [Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')];
  });
  const bytes = new Uint8Array(Buffer.concat([...pieces, Buffer.from(end)]));
  return { raw: { bytes: Buffer.from(bytes), contentType } };
}
