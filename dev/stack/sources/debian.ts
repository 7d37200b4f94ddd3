/** Debian packages with missing libraries, unpacked without root or installed by root. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { intoCache } from '../intoCache.ts';
import { onPath } from '../onPath.ts';
import type { ObtainContext, Source } from '../recipe.ts';
import { lastOutput, type RunResult, runCommand } from '../runCommand.ts';

export interface DebianProgram {
  package: string;
  /** Required packages that it does not depend on. */
  alongside?: readonly string[];
  /** Commands for `bin/`, with the path of each program under the unpacked root. */
  programs: Record<string, string>;
  folder: string;
  /** Data below /usr: the variable for its folder, and a file that identifies the folder. */
  data?: { variable: string; marker: string };
}

const APT_TIMEOUT_MS = 10 * 60_000;
/** Limits the time for an unreachable mirror to seconds. */
const PATIENCE = ['-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=10', '-o', 'Acquire::https::Timeout=10'];

/** Unpacks into `<folder>/root`. `<folder>/bin/<command>` runs with the unpacked libraries. */
export function debianPackage(debian: DebianProgram, command: string): Source {
  return intoCache({
    name: `Debian package ${debian.package}`,
    doing: `unpacking Debian's ${debian.package}`,
    folder: debian.folder,
    program: path.join('bin', command),
    possible: async ({ environment }) => needs(environment, ['apt-get', 'dpkg']),
    fill: (folder, context) => unpack(debian, folder, context),
  });
}

/** Last resort for root: installs the package on the machine. */
export function aptInstall(packageName: string, command: string): Source {
  return {
    name: `apt-get install ${packageName}`,
    cachedAt: () => undefined,
    async obtain({ environment, progress }) {
      if (process.getuid?.() !== 0) throw new Error('only root can do that');
      needs(environment, ['apt-get']);
      const install = ['-y', '-qq', '--no-install-recommends', 'install', packageName];
      const env = { ...environment, DEBIAN_FRONTEND: 'noninteractive' };
      await progress.during(`installing Debian's ${packageName}`, async () => {
        mustSucceed(await runCommand('apt-get', [...PATIENCE, '-qq', 'update'], { timeoutMs: APT_TIMEOUT_MS, env }));
        mustSucceed(await runCommand('apt-get', [...PATIENCE, ...install], { timeoutMs: APT_TIMEOUT_MS, env }));
      });
      const program = onPath(command, environment.PATH);
      if (program === undefined) throw new Error(`it brought no "${command}" on PATH`);
      return program;
    },
  };
}

async function unpack(debian: DebianProgram, folder: string, context: ObtainContext): Promise<void> {
  // A temporary folder for apt's state requires neither root nor a data path without spaces.
  const state = mkdtempSync(path.join(os.tmpdir(), 'farebox-apt-'));
  try {
    await download([debian.package, ...(debian.alongside ?? [])], state, context.environment);
    const archives = path.join(state, 'archives');
    const packages = readdirSync(archives).filter((name) => name.endsWith('.deb'));
    if (packages.length === 0) throw new Error('apt-get downloaded nothing');
    const root = path.join(folder, 'root');
    for (const name of packages) {
      const unpacked = await runCommand('dpkg', ['-x', path.join(archives, name), root], {
        timeoutMs: 120_000,
      });
      mustSucceed(unpacked);
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
  writeLaunchers(debian, folder);
}

async function download(names: readonly string[], state: string, environment: NodeJS.ProcessEnv): Promise<void> {
  for (const folder of ['lists/partial', 'archives/partial']) {
    mkdirSync(path.join(state, folder), { recursive: true });
  }
  const install = ['-y', '-qq', '--no-install-recommends', '--reinstall', '--download-only', 'install', ...names];
  const failures: string[] = [];
  for (const sources of sourceLists()) {
    const options = [...PATIENCE, ...settings({ ...sources, ...stateSettings(state) })];
    const steps = [
      [...options, '-qq', 'update'],
      [...options, ...install],
    ];
    const failed = await firstFailure(steps, environment);
    if (failed === undefined) return;
    failures.push(lastOutput(failed));
  }
  throw new Error(failures.join('; '));
}

async function firstFailure(steps: string[][], environment: NodeJS.ProcessEnv): Promise<RunResult | undefined> {
  for (const args of steps) {
    const result = await runCommand('apt-get', args, { timeoutMs: APT_TIMEOUT_MS, env: environment });
    if (result.code !== 0) return result;
  }
  return undefined;
}

/** The distribution's own list comes first, so that a broken list of a third party does not matter. */
function sourceLists(): Record<string, string>[] {
  const own = ['debian.sources', 'ubuntu.sources']
    .map((name) => path.join('/etc/apt/sources.list.d', name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
  const restricted = own.map((file) => ({ 'Dir::Etc::sourcelist': file, 'Dir::Etc::sourceparts': '-' }));
  return [...restricted, {}];
}

/** Keeps the machine's list of installed packages, which shows the missing libraries. */
function stateSettings(state: string): Record<string, string> {
  return {
    'Dir::State::lists': path.join(state, 'lists'),
    'Dir::State::extended_states': path.join(state, 'extended_states'),
    'Dir::Cache': state,
    'Dir::Cache::archives': path.join(state, 'archives'),
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': '',
  };
}

function settings(values: Record<string, string>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/** Writes a launcher per command that finds the unpacked libraries relative to its own path. */
function writeLaunchers(debian: DebianProgram, folder: string): void {
  const root = path.join(folder, 'root');
  const fromHere = (found: string) => `$here/root/${path.relative(root, found)}`;
  const libraries = libraryFolders(root).map(fromHere);
  const data = debian.data && `${debian.data.variable}="${fromHere(dataFolder(root, debian.data.marker))}" `;
  mkdirSync(path.join(folder, 'bin'));
  for (const [command, program] of Object.entries(debian.programs)) {
    const launcher = path.join(folder, 'bin', command);
    const target = path.join(path.dirname(program), command);
    // A program that acts by its name is linked under the name of the command.
    if (target !== program) symlinkSync(path.basename(program), path.join(root, target));
    const lines = [
      '#!/bin/sh',
      'here=$(dirname "$(dirname "$(readlink -f "$0")")")',
      `${data ?? ''}LD_LIBRARY_PATH="${libraries.join(':')}" exec "$here/root/${target}" "$@"`,
    ];
    writeFileSync(launcher, `${lines.join('\n')}\n`);
    chmodSync(launcher, 0o755);
  }
}

/** Folders with libraries, except the C library, which must be the machine's own. */
function libraryFolders(root: string): string[] {
  const files = readdirSync(root, { withFileTypes: true, recursive: true });
  const libraries = files.filter((file) => /\.so(\.|$)/.test(file.name));
  const core = new Set(libraries.filter((file) => file.name === 'libc.so.6').map((file) => file.parentPath));
  return [...new Set(libraries.map((file) => file.parentPath))].filter((folder) => !core.has(folder));
}

function dataFolder(root: string, marker: string): string {
  const files = readdirSync(root, { withFileTypes: true, recursive: true });
  const found = files.find((file) => file.isFile() && file.name === marker);
  if (found === undefined) throw new Error(`the packages hold no "${marker}"`);
  return found.parentPath;
}

function needs(environment: NodeJS.ProcessEnv, commands: string[]): void {
  const missing = commands.filter((command) => onPath(command, environment.PATH) === undefined);
  if (missing.length > 0) throw new Error(`no ${missing.join(', ')} on PATH`);
}

function mustSucceed(result: RunResult): void {
  if (result.code !== 0) throw new Error(lastOutput(result));
}
