/**
 * Names and ids of the service's default voices ("premade" in its API), from the page "Default voices" of its published
 * documentation (github.com/elevenlabs/elevenlabs-docs, product-guides/voices/default-voices.mdx).
 */
export const DEFAULT_VOICES: Readonly<Record<string, string>> = {
  Alice: 'Xb7hH8MSUJpSbSDYk0k2',
  Aria: '9BWtsMINqrJLrRacOk9x',
  Bill: 'pqHfZKP75CvOlQylNhV4',
  Brian: 'nPczCjzI2devNBz1zQrb',
  Callum: 'N2lVS1w4EtoT3dr4eOWO',
  Charlie: 'IKne3meq5aSn9XLyUdCD',
  Charlotte: 'XB0fDUnXU5powFXDhCwa',
  Chris: 'iP95p4xoKVk53GoZ742B',
  Daniel: 'onwK4e9ZLuTAKqWW03F9',
  Eric: 'cjVigY5qzO86Huf0OWal',
  George: 'JBFqnCBsd6RMkjVDRZzb',
  Jessica: 'cgSgspJ2msm6clMCkdW9',
  Laura: 'FGY2WhTYpPnrIDTdsKH5',
  Liam: 'TX3LPaxmHKxFdv7VOQHJ',
  Lily: 'pFZP5JQG7iQjIQuC4Bku',
  Matilda: 'XrExE9yKIg1WjnnlVkGX',
  River: 'SAz9YHcvj6GT2YYXdXww',
  Roger: 'CwhRBWXzGAHq8TQ4Fs17',
  Sarah: 'EXAVITQu4vr4xnSDxMaL',
  Will: 'bIHbv24MWmeRgasZH58o',
};

/** Former default voices: still served, no longer listed. */
const EARLIER_VOICES: Readonly<Record<string, string>> = { Rachel: '21m00Tcm4TlvDq8ikWAM' };

const KNOWN_VOICES: Readonly<Record<string, string>> = { ...DEFAULT_VOICES, ...EARLIER_VOICES };
const KNOWN_IDS = new Set(Object.values(KNOWN_VOICES));

export interface Voice {
  id: string;
  /** Not a default voice: it may not exist, or the account may not use it. */
  custom: boolean;
}

/** Looks up a default voice by name; other text is taken as a voice id. */
export function toVoice(nameOrId: string): Voice {
  const id = Object.hasOwn(KNOWN_VOICES, nameOrId) ? KNOWN_VOICES[nameOrId] : undefined;
  return id === undefined ? { id: nameOrId, custom: !KNOWN_IDS.has(nameOrId) } : { id, custom: false };
}
