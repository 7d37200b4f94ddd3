/** Supervises all processes: lists them, prints their events, and stops them in order with deadlines. */
import type { DataFolder } from './dataFolder.ts';
import { removeDevFile } from './devFile.ts';
import type { SupervisedProcess, SuperviseOptions } from './supervise.ts';

export interface Supervision {
  /** Options for every process. */
  options: SuperviseOptions;
  /** Process ids by name of part. */
  processes(): Record<string, number>;
  /** Called after each restart of a part, which changes its process id. */
  whenRestarted(listener: () => void): void;
  isStopping(): boolean;
  /** Stops all processes and releases the data folder. Repeated calls wait for the same end. */
  shutDown(): Promise<void>;
}

export function openSupervision(folder: DataFolder, say: (text: string) => void): Supervision {
  const running = createRunning();
  let restarted: () => void = () => undefined;
  let stopping: Promise<void> | undefined;
  const shutDown = () => {
    removeDevFile(folder.path);
    stopping ??= running.stopAll().then(() => folder.release());
    return stopping;
  };
  return {
    options: {
      folder: folder.path,
      register: running.add,
      onCrash: ({ name, how, restartInMs }) =>
        say(`${name} ended (${how}) and starts again in ${restartInMs / 1_000} s; see ${folder.path}/logs/${name}.log`),
      onSilence: ({ name, silentMs }) =>
        say(`${name} has not answered for ${Math.round(silentMs / 1_000)} s and is killed`),
      onRestart: ({ name, pid }) => {
        say(`${name} runs again (process ${pid})`);
        if (stopping === undefined) restarted();
      },
    },
    processes: running.processes,
    whenRestarted(listener) {
      restarted = listener;
    },
    isStopping: () => stopping !== undefined,
    async shutDown() {
      await shutDown();
    },
  };
}

const ONE_WISH_MS = 1_000;

/** On Ctrl-C, SIGTERM or a closed terminal stops everything and exits with 0. A second signal kills at once. */
export function stopWhenAsked(supervision: Supervision, say: (text: string) => void): void {
  let askedAtMs = 0;
  const stop = () => {
    if (supervision.isStopping()) {
      // One Ctrl-C under npm arrives twice: from the terminal, and forwarded by npm.
      if (Date.now() - askedAtMs < ONE_WISH_MS) return;
      for (const pid of Object.values(supervision.processes())) kill(pid);
      process.exit(1);
    }
    askedAtMs = Date.now();
    say('\nstopping …');
    void supervision.shutDown().then(() => {
      say('stopped');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.stack ?? error.message}\n`);
    void supervision.shutDown().then(() => process.exit(1));
  });
  // The service survives when the reader of its output has gone.
  process.stdout.on('error', () => undefined);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

interface RunningProcesses {
  add(supervised: SupervisedProcess): void;
  /** Ids by name of the processes that run now. */
  processes(): Record<string, number>;
  /** Stops services first, then the parts they use, the database last. Each has its own deadline. */
  stopAll(): Promise<void>;
}

const STOP_ORDER = [
  ['api', 'worker'],
  ['facilitator', 'temporal', 'redis', 's3'],
  ['chain', 'postgres'],
];

function createRunning(): RunningProcesses {
  const all = new Map<string, SupervisedProcess>();
  return {
    add(supervised) {
      all.set(supervised.name, supervised);
    },
    processes() {
      const known = [...all.values()].flatMap(({ name, pid }) => {
        const id = pid();
        return id === undefined ? [] : [[name, id] as const];
      });
      return Object.fromEntries(known);
    },
    async stopAll() {
      for (const names of STOP_ORDER) {
        await Promise.all(names.map((name) => all.get(name)?.stop()));
      }
    },
  };
}
