import type { Inspection } from './inspectFile.ts';
import { createInspector } from './inspector.ts';

/** The inspection children of this process; they start with the first file. */
const inspector = createInspector();

/** Undefined: the file could not be parsed within the limits. */
export async function inspectAudio(path: string): Promise<Inspection | undefined> {
  return inspector.inspect(path);
}
