/** Build time, as the description of the API names it (API-14): `YYYYMMDD.HHMMSS`, UTC. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Value for sources that were never built. */
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

/** Beside the compiled workers; absent when the sources run uncompiled, as tests do. */
const BUNDLE = fileURLToPath(new URL('../../workers/workflows.bundle.js', import.meta.url));

/**
 * Version of the workflow code: workers with the same bundle are the same version. The first 16 hex digits of the bundle's SHA-256; `source` without a
 * bundle.
 */
export function workflowBuildId(bundlePath: string = BUNDLE): string {
  if (!existsSync(bundlePath)) return 'source';
  return createHash('sha256').update(readFileSync(bundlePath)).digest('hex').slice(0, 16);
}
