import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import { ROOT } from '../harness/spawn.ts';

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

let built = false;

/** Runs the command line in its own process with exactly these variables. */
export function runFarebox(
  args: readonly string[],
  environment: Record<string, string>,
  cwd: string = ROOT,
): Promise<CommandResult> {
  if (!built) execFileSync(process.execPath, [path.join(ROOT, 'dev/launch/build.mjs')], { stdio: 'pipe' });
  built = true;
  const script = path.join(ROOT, 'dist/cli/main.js');
  return new Promise((resolve) => {
    const options = { env: environment, cwd, timeout: 60_000, maxBuffer: 10_000_000 };
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** JSON output of a command that must succeed. */
export async function answerOf<T>(args: readonly string[], environment: Record<string, string>): Promise<T> {
  const { code, stdout, stderr } = await runFarebox([...args, '--json'], environment);
  if (code !== 0) throw new Error(`farebox ${args.join(' ')} exited ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
