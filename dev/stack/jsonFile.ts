import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** The parsed file; undefined when there is none. Throws when it is no JSON. */
export function readJson<T>(file: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Error(`${file} is no JSON`, { cause: error });
  }
}

/** Readable by its owner only, and there whole or not at all. */
export function writeJson(file: string, value: unknown): void {
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, file);
}
