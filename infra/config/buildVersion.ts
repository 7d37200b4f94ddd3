/** Build time, as the description of the API names it (API-14): `YYYYMMDD.HHMMSS`, UTC. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Of sources that were never built. */
export const UNBUILT = '00000000.000000';

/** Written by the build; the second place is for sources that run uncompiled, as tests do. */
const PLACES = ['../../build.json', '../../dist/build.json'];

export function buildVersion(): string {
  for (const place of PLACES) {
    try {
      const built: unknown = JSON.parse(readFileSync(fileURLToPath(new URL(place, import.meta.url)), 'utf8'));
      if (typeof built === 'object' && built !== null && 'version' in built) return String(built.version);
    } catch {
      // Not built from here.
    }
  }
  return UNBUILT;
}
