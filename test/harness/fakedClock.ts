/** Processes with a settable clock: Debian's libfaketime, found or obtained like the real parts. */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { locateProgram } from '../../dev/stack/locate.ts';
import { createProgress } from '../../dev/stack/progress.ts';
import type { Recipe } from '../../dev/stack/recipe.ts';
import { lastOutput, runCommand } from '../../dev/stack/runCommand.ts';
import { aptInstall, debianPackage } from '../../dev/stack/sources/debian.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

const recipe: Recipe = {
  part: 'faketime',
  title: 'libfaketime',
  variable: 'FAKETIME_PATH',
  variableMeans: 'the path of faketime, its library being where a distribution puts it',
  programVariable: 'FAKETIME_PATH',
  commands: ['faketime'],
  async accept(program) {
    const preload = { LD_PRELOAD: libraryOf(program), FAKETIME: '@2000-02-29 12:00:00', TZ: 'UTC' };
    const said = await runCommand('date', ['+%F'], {
      timeoutMs: 20_000,
      env: { ...processEnvironment(), ...preload },
    });
    if (said.code !== 0) throw new Error(lastOutput(said));
    if (said.stdout.trim() !== '2000-02-29') throw new Error(`it changes no clock: "${said.stdout.trim()}"`);
  },
  sources: [
    debianPackage(
      { package: 'faketime', folder: 'faketime-debian', programs: { faketime: 'usr/bin/faketime' } },
      'faketime',
    ),
    aptInstall('faketime', 'faketime'),
  ],
};

export interface FakedClock {
  /** Environment of a process whose clock is off by so many hours. Negative is behind. */
  skewed(hours: number): Record<string, string>;
  /** Environment of a single-threaded process whose clock is off by the seconds in this file, at each look. */
  followed(file: string): Record<string, string>;
}

/** Throws with all attempts if libfaketime cannot be found. */
export async function fakedClock(): Promise<FakedClock> {
  const progress = createProgress({ write: (text) => process.stderr.write(text), isTerminal: false });
  const program = await locateProgram(recipe, { environment: processEnvironment(), progress });
  const single = libraryOf(program.path);
  // Timeouts use the monotonic clock, which must not jump.
  const common = { FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
  return {
    skewed: (hours) => ({
      ...common,
      LD_PRELOAD: single.replace('libfaketime.', 'libfaketimeMT.'),
      FAKETIME: `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h`,
    }),
    followed: (file) => ({
      ...common,
      LD_PRELOAD: single,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
    }),
  };
}

/** The library is beside an installed program, or under `root/` of an unpacked package. */
function libraryOf(program: string): string {
  const base = path.dirname(path.dirname(realpathSync(program)));
  const folders = [path.join(base, 'root/usr/lib'), path.join(base, 'lib')].filter((folder) => existsSync(folder));
  const places = folders.flatMap((folder) => [folder, ...readdirSync(folder).map((name) => path.join(folder, name))]);
  const libraries = places.map((place) => path.join(place, 'faketime/libfaketime.so.1'));
  const library = libraries.find((file) => existsSync(file));
  if (library === undefined) throw new Error(`no libfaketime.so.1 belongs to ${program}`);
  return library;
}
