/**
 * Namespaces for child processes that decode untrusted bytes. A compromised decoder sees no other process, no network,
 * no data folder and no secret file. It writes to its work folder only and has no capability. Needs Linux with
 * `unshare`, `mount` and `setpriv` of util-linux, and a kernel that permits the namespaces. Otherwise decoders get the
 * best level that works, see `decoderIsolation`.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataFolderPath, secretFilePaths } from '../../infra/config/environment.ts';
import type { Logger } from '../../infra/log.ts';

export interface DecoderIsolation {
  level: 'full' | 'shared_proc' | 'no_network' | 'none';
  /** Predicate after the word "decoders": what they can reach. */
  description: string;
  /** Below `full`: one line of error output of the program that failed. */
  reason?: string;
}

interface IsolationLevel extends DecoderIsolation {
  namespaces: readonly string[];
  /** Requires a mount namespace. */
  hidesFiles: boolean;
}

const PROCESSES = ['--pid', '--fork', '--kill-child', '--net', '--ipc'];
/** Best level first. */
const LEVELS: readonly IsolationLevel[] = [
  {
    level: 'full',
    description: 'run without network, in namespaces of their own',
    namespaces: [...PROCESSES, '--mount', '--mount-proc'],
    hidesFiles: true,
  },
  {
    // Containers that hide parts of /proc forbid mounting another one.
    level: 'shared_proc',
    description: 'run without network; they see which processes run, as /proc cannot be mounted',
    namespaces: [...PROCESSES, '--mount'],
    hidesFiles: true,
  },
  {
    level: 'no_network',
    description: 'run without network; they can read the files that this user can read, as nothing can be mounted',
    namespaces: PROCESSES,
    hidesFiles: false,
  },
];
/** As real root, else as root of a user namespace, which an ordinary user may create. */
const USERS: readonly (readonly string[])[] = [[], ['--user', '--map-root-user']];
/** Root can write in these folders and read a disk through its device without any capability. */
const ROOT_FOLDERS = process.getuid?.() === 0 ? '/proc /sys' : '';
/** The shell stays as process 1, because process 1 cannot kill itself. */
const RUN = 'setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@" & wait "$!"';
/**
 * Arguments: work folder, data folder, files to hide, `--`, command. Hides the data folder except its work folder, and
 * covers each file with an empty one. Only the work folder and `/tmp` stay writable.
 */
const HIDE_AND_RUN = `root='${ROOT_FOLDERS}' work=$1 data=$2; shift 2; here=$PWD
mount --rbind /tmp /tmp || exit 125
if [ -d "$data" ]; then
  mkdir -p "$work" && cd "$work" && mount -t tmpfs -o size=64k,mode=0755 farebox "$data" && mkdir -p "$work" &&
    mount -c --bind . "$work" || exit 125
fi
while [ "$1" != -- ]; do [ ! -e "$1" ] || mount --bind /dev/null "$1" || exit 125; shift; done; shift
if [ "$root" ]; then
  cd /dev && mount -t tmpfs -o size=64k,mode=0755 farebox /dev && : > /dev/null && mount -c --bind null /dev/null || exit 125
fi
cd "$here" 2> /dev/null || cd /; for each in / $root; do mount --options-source mtab -o remount,bind,ro "$each" || exit 125; done
${RUN}`;
const PROBE_TIMEOUT_MS = 10_000;
const MAX_REASON_LENGTH = 200;

type Start = (command: readonly string[]) => readonly string[];
let known: { isolation: DecoderIsolation; start: Start } | undefined;

/** Probed once per process, by starting a program as decoders are started. */
export function decoderIsolation(): DecoderIsolation {
  return probe().isolation;
}

/** Logs at the start of a process what its decoders can reach. */
export function reportDecoderIsolation(log: Logger): void {
  const { level, description, reason } = decoderIsolation();
  if (level === 'full') log.info(`decoders ${description}`);
  else log.warn({ reason }, `decoders ${description}`);
}

/** Wraps `command` in as much isolation as the kernel allows. */
export function isolatedCommand(command: readonly string[]): readonly string[] {
  try {
    // A folder created later would be on the read-only root of a running child.
    mkdirSync(workFolderPath(), { recursive: true, mode: 0o700 });
  } catch {
    // Work that needs the folder reports its own error.
  }
  return probe().start(command);
}

/**
 * Whether an ordinary child process of the same user can read this process's environment. The kernel denies it if the
 * user cannot read the program file: see infra/deploy/Dockerfile.
 */
export function isEnvironmentReadable(): boolean {
  return run(['/bin/sh', '-c', ': < "/proc/$PPID/environ"']) === undefined;
}

function probe() {
  known ??= findBestLevel();
  return known;
}

function findBestLevel(): NonNullable<typeof known> {
  // A decoder without capabilities must still be able to read its own program.
  const command = ['test', '-r', fileURLToPath(import.meta.url)];
  let reason: string | undefined;
  for (const { level, description, ...means } of LEVELS) {
    for (const user of USERS) {
      const start: Start = (wanted) => wrap({ ...means, user }, wanted);
      const failure = run(start(command));
      if (failure === undefined) return { isolation: { level, description, ...(reason && { reason }) }, start };
      if (level === 'full') reason = failure;
    }
  }
  const reach = isEnvironmentReadable() ? 'and its environment variables' : 'but not its environment variables';
  const description = `are not isolated: they can reach the network and read the files of this user, ${reach}`;
  return { isolation: { level: 'none', description, ...(reason && { reason }) }, start: (plain) => plain };
}

/** First line of the error. Undefined when the command succeeded. */
function run([program = '', ...args]: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, args, {
    ...{ env: {}, encoding: 'utf8', timeout: PROBE_TIMEOUT_MS, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  if (status === 0) return undefined;
  const reason = error?.message ?? (stderr.trim().split('\n')[0] || `exit code ${status}`);
  return reason.slice(0, MAX_REASON_LENGTH);
}

interface IsolationOptions extends Pick<IsolationLevel, 'namespaces' | 'hidesFiles'> {
  user: readonly string[];
}

function wrap({ user, namespaces, hidesFiles }: IsolationOptions, command: readonly string[]): readonly string[] {
  const hidden = [workFolderPath(), dataFolderPath(), ...secretFilePaths(), '--'];
  const script = hidesFiles ? [HIDE_AND_RUN, 'sh', ...hidden] : [RUN, 'sh'];
  return ['unshare', ...user, ...namespaces, '--', '/bin/sh', '-c', ...script, ...command];
}

function workFolderPath(): string {
  return path.join(dataFolderPath(), 'tmp');
}
