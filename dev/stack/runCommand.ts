/** Runs a command with a deadline and bounded output. Never rejects for a failing command. */
import { spawn } from 'node:child_process';

export interface RunResult {
  /** Exit code. -1 when it was killed, timed out or could not start. */
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
      // Own process group, so that a deadline also kills child processes (of npm, go, apt-get).
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
    // Runs before other exit listeners, because a build must end before its folder is removed.
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
    // The group has already ended.
  }
}

/** Last lines of a failed command's output, short enough for one message. */
export function lastOutput(result: RunResult): string {
  const words = `${result.stdout}\n${result.stderr}`.trim().split('\n').slice(-3).join(' | ');
  return `exit code ${result.code}${words ? `: ${words.slice(-400)}` : ''}`;
}
