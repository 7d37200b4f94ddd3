import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Undefined when there is no file. Throws when it is not JSON. */
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

/** Writes atomically. The file is readable by its owner only. */
export function writeJson(file: string, value: unknown): void {
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, file);
}
