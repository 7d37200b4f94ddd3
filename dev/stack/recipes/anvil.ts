import path from 'node:path';
import type { Recipe } from '../recipe.ts';
import { versionOf } from '../recipe.ts';
import { npmPackage } from '../sources/npmPackage.ts';

/** Local EVM chain for the demo and for tests, never for the service. */
export const anvilRecipe: Recipe = {
  part: 'anvil',
  title: 'anvil (a local EVM chain)',
  variable: 'ANVIL_PATH',
  variableMeans: 'the path of anvil, which https://getfoundry.sh installs',
  programVariable: 'ANVIL_PATH',
  commands: ['anvil'],
  async accept(program) {
    const version = await versionOf(program);
    if (!/^anvil\b/i.test(version)) throw new Error(`it is no anvil: "${version.slice(0, 100)}"`);
  },
  sources: [
    npmPackage({
      tool: 'anvil',
      title: 'anvil 1.7.1',
      folder: 'anvil-1.7.1',
      program: path.join('node_modules', '@foundry-rs', 'anvil-linux-amd64', 'bin', 'anvil'),
      platform: 'linux-x64',
    }),
  ],
};
