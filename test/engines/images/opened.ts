/** Image work of a test file, in its own folder. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createImageWork, type ImageWork, type ImageWorkOptions } from '../../../engines/images/imageWork.ts';

export const MAX_PIXELS = 33_177_600;

export interface OpenedWork {
  work: ImageWork;
  /** Writes the bytes to a new file, and returns a path for the result. */
  put(bytes: Buffer): { path: string; target: string; maxPixels: number };
}

export function openImageWork(options: ImageWorkOptions = {}): OpenedWork {
  const folder = mkdtempSync(join(tmpdir(), 'farebox-images-'));
  const work = createImageWork({ maxChildren: 1, ...options });
  afterAll(() => {
    work.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    work,
    put(bytes) {
      const path = join(folder, randomUUID());
      writeFileSync(path, bytes);
      return { path, target: `${path}.made`, maxPixels: MAX_PIXELS };
    },
  };
}
