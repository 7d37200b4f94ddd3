/** Programs for speech synthesis and recognition. The service starts without them. */
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { modelArguments } from '../../../engines/speech/runPocketsphinx.ts';
import type { Recipe } from '../recipe.ts';
import { lastOutput, runCommand } from '../runCommand.ts';
import { debianPackage } from '../sources/debian.ts';

const RECOGNISER = 'pocketsphinx_batch';
const MODEL = path.join('usr', 'share', 'pocketsphinx', 'model', 'en-us');

/**
 * Speech recogniser with its English model. Without it only `local-transcribe` is offline, so it is never installed on
 * the machine. `model` is the folder that the operator configured.
 */
export function pocketsphinxRecipe(model?: string): Recipe {
  return {
    part: 'pocketsphinx',
    title: 'The speech recogniser (pocketsphinx)',
    variable: 'POCKETSPHINX_PATH',
    variableMeans: `the path of ${RECOGNISER}, and POCKETSPHINX_MODEL to the folder of its English model`,
    programVariable: 'POCKETSPHINX_PATH',
    commands: [RECOGNISER],
    accept: (program) => acceptRecogniser(program, model),
    sources: [
      debianPackage(
        {
          package: 'pocketsphinx',
          alongside: ['pocketsphinx-en-us'],
          folder: 'pocketsphinx-debian',
          programs: { [RECOGNISER]: `usr/bin/${RECOGNISER}` },
        },
        RECOGNISER,
      ),
    ],
  };
}

/** Folder of the English model: the named one, else that of Debian's package. Undefined when missing. */
export function recogniserModel(program: string, named?: string): string | undefined {
  if (named) return hasModel(named) ? path.resolve(named) : undefined;
  const home = path.dirname(path.dirname(realpathSync(program)));
  return [path.join(home, 'root', MODEL), path.join(path.dirname(home), MODEL), path.join('/', MODEL)].find(hasModel);
}

function hasModel(folder: string): boolean {
  return existsSync(path.join(folder, 'en-us.lm.bin'));
}

/** Loads the model as a test, because the program starts without it but recognises nothing. */
async function acceptRecogniser(program: string, named: string | undefined): Promise<void> {
  const model = recogniserModel(program, named);
  if (model === undefined) throw new Error(`there is no English model ${named ? `in ${named}` : 'beside it'}`);
  const loaded = await runCommand(program, [...modelArguments(model), '-ctl', '/dev/null'], {
    timeoutMs: 60_000,
  });
  if (loaded.code !== 0) throw new Error(`it does not load its English model (${lastOutput(loaded)})`);
}

/**
 * Speech synthesiser. Without it only the speaking models are offline, so it is never installed on the machine: it is
 * unpacked into the cache or omitted. It is a separate program under the GPL, never part of ours.
 */
export const espeakRecipe: Recipe = {
  part: 'espeak',
  title: 'The speech synthesiser (espeak-ng)',
  variable: 'ESPEAK_PATH',
  variableMeans: 'the path of espeak-ng',
  programVariable: 'ESPEAK_PATH',
  commands: ['espeak-ng'],
  accept: acceptSynthesiser,
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

/** Lists voices as a test, because the program starts without its languages but cannot speak. */
async function acceptSynthesiser(program: string): Promise<void> {
  const listed = await runCommand(program, ['--voices=en'], { timeoutMs: 20_000 });
  if (listed.code !== 0 || !/^\s*\d+\s+en/m.test(listed.stdout)) throw new Error('it lists no English voice');
}
