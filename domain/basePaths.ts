/** Base paths of the API. Every route is served below each of them. */

/** Base path of the addresses that this service writes. */
export const BASE_PATH = '/api/v1';
/** The second one is that of OpenAI's API, which many clients append to a host. */
export const BASE_PATHS = [BASE_PATH, '/v1'] as const;

export function isBelowBasePath(path: string): boolean {
  return BASE_PATHS.some((base) => path.startsWith(`${base}/`));
}

/** Paths of a route below each base path. */
export function pathsOf(route: string): string[] {
  return BASE_PATHS.map((base) => `${base}${route}`);
}
