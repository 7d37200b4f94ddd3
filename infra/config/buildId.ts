/** Which workflow code this worker runs, for worker versioning: workers with the same bundle are the same version. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Beside the compiled workers; absent when the sources run uncompiled, as tests do. */
const BUNDLE = fileURLToPath(new URL('../../workers/workflows.bundle.js', import.meta.url));

/** The first 16 hex digits of the bundle's SHA-256; `source` without a bundle. */
export function workflowBuildId(bundlePath: string = BUNDLE): string {
  if (!existsSync(bundlePath)) return 'source';
  return createHash('sha256').update(readFileSync(bundlePath)).digest('hex').slice(0, 16);
}
