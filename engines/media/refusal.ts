/** What is wrong with a medium that a client handed in, as a whole sentence. */
export interface MediaRefusal {
  ok: false;
  code: 'invalid_media' | 'media_too_long' | 'payload_too_large';
  message: string;
  /** It was decoded for as long as its kind may take. */
  isTooComplex?: true;
}

export function invalidMedia(message: string): MediaRefusal {
  return { ok: false, code: 'invalid_media', message };
}

export function tooLongRefusal(what: string, maxSeconds: number): MediaRefusal {
  return { ok: false, code: 'media_too_long', message: `${what} is longer than ${maxSeconds} seconds.` };
}

/** Undefined: the file has a size that can be looked at. */
export function refuseSize(what: string, sizeBytes: number, maxBytes: number): MediaRefusal | undefined {
  if (sizeBytes === 0) return invalidMedia(`${what} file is empty.`);
  if (sizeBytes <= maxBytes) return undefined;
  const megabytes = Math.floor(maxBytes / 1024 / 1024);
  return { ok: false, code: 'payload_too_large', message: `${what} is larger than ${megabytes} MB.` };
}
