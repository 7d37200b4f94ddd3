/** Why a client's medium is refused, as a whole sentence. */
export interface MediaRefusal {
  ok: false;
  code: 'invalid_media' | 'media_too_long' | 'payload_too_large';
  message: string;
  /** Decoding reached the time limit of its kind. */
  isTooComplex?: true;
}

export function invalidMedia(message: string): MediaRefusal {
  return { ok: false, code: 'invalid_media', message };
}

export function tooLongRefusal(what: string, maxSeconds: number): MediaRefusal {
  return { ok: false, code: 'media_too_long', message: `${what} is longer than ${maxSeconds} seconds.` };
}

/** Undefined when the size is acceptable. */
export function refuseSize(what: string, sizeBytes: number, maxBytes: number): MediaRefusal | undefined {
  if (sizeBytes === 0) return invalidMedia(`${what} file is empty.`);
  if (sizeBytes <= maxBytes) return undefined;
  const megabytes = Math.floor(maxBytes / 1024 / 1024);
  return { ok: false, code: 'payload_too_large', message: `${what} is larger than ${megabytes} MB.` };
}
