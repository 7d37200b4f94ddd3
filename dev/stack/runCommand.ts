/** Runs a command to its end, with a deadline and bounded output. Never throws for a failing command. */
import { spawn } from 'node:child_process';

export interface RunResult {
  /** The exit code; -1 when it was killed, ran too long or could not be started. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  timeoutMs: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

const MAX_OUTPUT = 1_000_000;

export function runCommand(command: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  return new Promise((resolve) => {
    const output = { stdout: '', stderr: '' };
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that a deadline also ends what the command started (npm, go, apt-get).
      detached: true,
      ...(options.env && { env: options.env }),
      ...(options.cwd && { cwd: options.cwd }),
    });
    const timer = setTimeout(() => {
      output.stderr += `\nstopped after ${Math.round(options.timeoutMs / 1_000)} s`;
      endGroup(child.pid);
    }, options.timeoutMs);
    const finish = (code: number) => {
      clearTimeout(timer);
      process.off('exit', endWithUs);
      resolve({ code, ...output });
    };
    const endWithUs = () => endGroup(child.pid);
    // Before other work of the end: whoever removes the folder of a build needs the build to be over.
    process.prependOnceListener('exit', endWithUs);
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (bytes: Buffer) => {
        output[name] = (output[name] + bytes.toString()).slice(-MAX_OUTPUT);
      });
    }
    child.once('error', (error) => {
      output.stderr += error.message;
      finish(-1);
    });
    child.once('close', (code) => finish(code ?? -1));
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Already gone.
  }
}

/** The last lines of what a failed command said: enough to act on, short enough for one message. */
export function lastOutput(result: RunResult): string {
  const words = `${result.stdout}\n${result.stderr}`.trim().split('\n').slice(-3).join(' | ');
  return `exit code ${result.code}${words ? `: ${words.slice(-400)}` : ''}`;
}
