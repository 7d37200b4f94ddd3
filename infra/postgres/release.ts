/** The schema and the functions of this release: the SQL files beside this one, which stay in the source tree. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface SqlFile {
  /** File name without folder and extension. */
  name: string;
  text: string;
  /** SHA-256 of the text in hex. */
  digest: string;
}

export interface Release {
  /** In the order in which they are applied. */
  migrations: readonly SqlFile[];
  functions: readonly SqlFile[];
  /** Version of the functions; a release that changes any function has a higher one. */
  version: number;
}

/** `folder` has migrations/ and functions/. Throws when a function was changed under its old version. */
export function readRelease(folder: string = ownFolder()): Release {
  const functions = readFiles(path.join(folder, 'functions'));
  const versionFile = path.join(folder, 'functions/version.txt');
  const [version = '', digest] = readFileSync(versionFile, 'utf8').trim().split(' ');
  const own = digestOf(functions.map(({ name, text }) => `${name}\n${text}`).join('\n'));
  if (digest !== own) {
    throw new Error(
      `functions of version ${version} were changed: write "${Number(version) + 1} ${own}" into ${versionFile}`,
    );
  }
  return { migrations: readFiles(path.join(folder, 'migrations')), functions, version: Number(version) };
}

/** Sorted by name, in whatever folder the files are. */
function readFiles(folder: string): SqlFile[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'));
  const read = files.map((file) => {
    const text = readFileSync(path.join(folder, file), 'utf8');
    return { name: path.basename(file, '.sql'), text, digest: digestOf(text) };
  });
  return read.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Compiled code lies one folder deeper, under dist/. */
function ownFolder(): string {
  const compiled = import.meta.url.endsWith('.js');
  return fileURLToPath(new URL(compiled ? '../../../infra/postgres/' : './', import.meta.url));
}
