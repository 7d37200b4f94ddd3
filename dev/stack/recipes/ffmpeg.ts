import { chmodSync } from 'node:fs';
import path from 'node:path';
import type { Recipe } from '../recipe.ts';
import { versionOf } from '../recipe.ts';
import { aptInstall, debianPackage } from '../sources/debian.ts';
import { npmPackage } from '../sources/npmPackage.ts';

export const ffmpegRecipe = recipeOf('ffmpeg');
export const ffprobeRecipe = recipeOf('ffprobe');

function recipeOf(command: 'ffmpeg' | 'ffprobe'): Recipe {
  const variable = command === 'ffmpeg' ? 'FFMPEG_PATH' : 'FFPROBE_PATH';
  const programs = { ffmpeg: 'usr/bin/ffmpeg', ffprobe: 'usr/bin/ffprobe' };
  return {
    part: command,
    title: command,
    variable,
    variableMeans: `the path of ${command}`,
    programVariable: variable,
    commands: [command],
    async accept(program) {
      await versionOf(program, '-version');
    },
    sources: [
      debianPackage({ package: 'ffmpeg', folder: 'ffmpeg-debian', programs }, command),
      aptInstall('ffmpeg', command),
      // Years old: sufficient for a demo with own recordings, unsafe for files of strangers.
      npmPackage({
        tool: 'ffmpeg',
        title: `${command} (a build of 2018; install a newer one before strangers may upload)`,
        folder: 'ffmpeg-npm-1',
        program: inPackage(command),
        // The programs in the packages are not marked executable.
        finish: (folder) => {
          for (const each of ['ffmpeg', 'ffprobe']) chmodSync(path.join(folder, inPackage(each)), 0o755);
        },
      }),
    ],
  };
}

function inPackage(command: string): string {
  return path.join('node_modules', `@${command}-installer`, `${process.platform}-${process.arch}`, command);
}
