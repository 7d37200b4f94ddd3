import { fileURLToPath } from 'node:url';

/** The pinned manifests of a tool; the build copies them, so they lie at the same place beside compiled code. */
export function toolFolder(tool: string): string {
  return fileURLToPath(new URL(`../../infra/deploy/tools/${tool}`, import.meta.url));
}
