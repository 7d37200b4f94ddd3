/** Paths of the repository and of lock files. These lie outside of it, because `npm ci` removes node_modules. */
import { createHash } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export function lockFile(name) {
  const owner = process.getuid?.() ?? os.userInfo().username;
  const repository = createHash('sha256').update(ROOT).digest('hex').slice(0, 12);
  return path.join(os.tmpdir(), `farebox-${owner}-${repository}-${name}.lock`);
}
