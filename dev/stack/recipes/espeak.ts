import type { Recipe } from '../recipe.ts';
import { run } from '../run.ts';
import { debianPackage } from '../sources/debian.ts';

/**
 * The speech synthesiser. Without it models that speak are offline and the rest works, so nothing is installed on the
 * machine for its sake: unpacked into the cache or left out. It is a program of its own under the GPL and never part of ours.
 */
export const espeakRecipe: Recipe = {
  part: 'espeak',
  title: 'The speech synthesiser (espeak-ng)',
  variable: 'ESPEAK_PATH',
  variableMeans: 'the path of espeak-ng',
  programVariable: 'ESPEAK_PATH',
  commands: ['espeak-ng'],
  accept,
  sources: [
    debianPackage(
      {
        package: 'espeak-ng',
        folder: 'espeak-debian',
        programs: { 'espeak-ng': 'usr/bin/espeak-ng' },
        data: { variable: 'ESPEAK_DATA_PATH', marker: 'phontab' },
      },
      'espeak-ng',
    ),
  ],
};

/** It starts without its languages as well, and then cannot speak. */
async function accept(program: string): Promise<void> {
  const listed = await run(program, ['--voices=en'], { timeoutMs: 20_000 });
  if (listed.code !== 0 || !/^\s*\d+\s+en/m.test(listed.stdout)) throw new Error('it lists no English voice');
}
