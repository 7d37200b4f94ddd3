/** Where in a prediction's output the file is: models answer an address, a list of them, or an object that names some. */
import type { MediumKind } from '../shared/queuedJobs.ts';

const MAX_ADDRESSES = 50;
const MAX_DEPTH = 4;
const MAX_ADDRESS_LENGTH = 4_096;

const ENDINGS: Record<MediumKind, RegExp> = {
  audio: /\.(mp3|wav|flac|ogg|opus|m4a|aac)$/i,
  video: /\.(mp4|mov|webm|mkv|m4v)$/i,
};

/**
 * The first address that ends like a file of the kind, since a model may put a cover or a preview beside it; else the first
 * one. Undefined where there is none. What is there is judged by its signature after it was fetched.
 */
export function outputAddress(output: unknown, kind: MediumKind): string | undefined {
  const addresses = outputAddresses(output);
  return addresses.find((address) => ENDINGS[kind].test(new URL(address).pathname)) ?? addresses[0];
}

/** All of them, in their order. */
export function outputAddresses(output: unknown): string[] {
  const addresses: string[] = [];
  collect(output, addresses, 0);
  return addresses;
}

function collect(value: unknown, addresses: string[], depth: number): void {
  if (addresses.length >= MAX_ADDRESSES || depth > MAX_DEPTH) return;
  if (typeof value === 'string') {
    if (isAddress(value)) addresses.push(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) collect(each, addresses, depth + 1);
  }
}

function isAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS_LENGTH && /^https?:\/\//i.test(text) && URL.canParse(text);
}
