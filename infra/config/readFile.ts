/** Reads the configuration file: JSON, checked against the schema, relative paths resolved against the file. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { crossCheck } from './crossCheck.ts';
import { DEFAULT_CONFIG_FILE } from './environment.ts';
import { ConfigError, describeProblems } from './problems.ts';
import { type ConfigurationFile, configurationFile } from './schema/file.ts';
import type { ConfigurableKinds } from './schema/primitives.ts';

const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * The checked content of the file that `named` names; without a name, of farebox.config.json in the working folder if
 * there is one, else the defaults. Throws ConfigError.
 */
export function readConfigurationFile(kinds: ConfigurableKinds, named: string | undefined): ConfigurationFile {
  const file = path.resolve(named ?? DEFAULT_CONFIG_FILE);
  const content = readText(file, named === undefined ? undefined : MEANING);
  if (content === undefined) return checkConfiguration(kinds, {}, file);
  const checked = checkConfiguration(kinds, parseJson(content, file), file);
  return resolvePaths(kinds, checked, path.dirname(file));
}

/** Checks parsed JSON against the schema and against itself; `where` opens the error. */
export function checkConfiguration(kinds: ConfigurableKinds, content: unknown, where: string): ConfigurationFile {
  const parsed = configurationFile(kinds).safeParse(content);
  if (!parsed.success) throw new ConfigError(where, describeProblems(parsed.error.issues, content));
  const problems = crossCheck(kinds, parsed.data);
  if (problems.length > 0) throw new ConfigError(where, problems);
  return parsed.data;
}

const MEANING = 'FAREBOX_CONFIG names the configuration file';

/** Text of a file; undefined when an optional one does not exist. `meaning`: origin of the name of a required file. */
export function readText(file: string, meaning: string | undefined): string | undefined {
  try {
    if (statSync(file).size > MAX_FILE_BYTES) throw new ConfigError(file, ['larger than 16 MiB']);
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    if (code === 'ENOENT' && meaning === undefined) return undefined;
    throw new ConfigError(file, [`cannot be read (${code}); ${meaning ?? MEANING}`]);
  }
}

export function parseJson(content: string, file: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    // Node's message quotes the file, which may hold secrets: only the position is kept.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    const before = content.slice(0, position === undefined ? content.length : Number(position)).split('\n');
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new ConfigError(file, [`not valid JSON at ${place}`]);
  }
}

function resolvePaths(kinds: ConfigurableKinds, content: ConfigurationFile, folder: string): ConfigurationFile {
  const { charactersFile } = content.catalogue;
  const catalogue =
    charactersFile === undefined
      ? content.catalogue
      : { ...content.catalogue, charactersFile: path.resolve(folder, charactersFile) };
  const providers = Object.entries(content.providers).map(([name, entry]) => {
    const names = kinds.find(({ kind }) => kind === entry.kind)?.pathSettings ?? [];
    return [name, withAbsolutePaths(entry, names, folder)];
  });
  return { ...content, catalogue, providers: Object.fromEntries(providers) };
}

function withAbsolutePaths(entry: ProviderSettings, names: readonly string[], folder: string): ProviderSettings {
  const paths = Object.entries(entry).filter(([name]) => names.includes(name));
  return { ...entry, ...Object.fromEntries(paths.map(([name, file]) => [name, path.resolve(folder, file)])) };
}
