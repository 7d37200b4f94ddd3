import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** First executable of that name on a PATH. Relative entries are ignored, because parts run in other folders. */
export function onPath(name: string, pathVariable: string | undefined): string | undefined {
  const folders = (pathVariable ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}
