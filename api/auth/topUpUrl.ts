/** Addresses of the top-up route. */
import { BASE_PATH, pathsOf } from '../../domain/basePaths.ts';

/** Relative to the base path. */
export const TOP_UP_PATH = '/x402/top-up';

export function topUpUrl(publicUrl: string): string {
  return `${publicUrl}${BASE_PATH}${TOP_UP_PATH}`;
}

/** One for each base path: a payment may name any of them. */
export function topUpUrls(publicUrl: string): string[] {
  return pathsOf(TOP_UP_PATH).map((path) => `${publicUrl}${path}`);
}
