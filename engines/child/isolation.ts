/**
 * Namespaces for the children that decode foreign bytes. A decoder that is taken over sees no other process, no network,
 * neither the data folder nor a file with secrets, writes to its work folder only, and has no capability. Needs Linux with
 * `unshare`, `mount` and `setpriv` of util-linux, and a kernel that lets this user make namespaces. Where it does not
 * allow all of them, decoders get the most that it allows; `decoderIsolation` tells what that is.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataFolderPath, secretFilePaths } from '../../infra/config/environment.ts';
import type { Logger } from '../../infra/log.ts';

export interface DecoderIsolation {
  level: 'full' | 'shared_proc' | 'no_network' | 'none';
  /** Reach of the decoders; the words follow "decoders". */
  description: string;
  /** Below `full`: one line of the program that failed. */
  reason?: string;
}

interface IsolationLevel extends DecoderIsolation {
  namespaces: readonly string[];
  /** Needs a mount namespace. */
  hidesFiles: boolean;
}

const PROCESSES = ['--pid', '--fork', '--kill-child', '--net', '--ipc'];
/** The best one first. */
const LEVELS: readonly IsolationLevel[] = [
  {
    level: 'full',
    description: 'run without network, in namespaces of their own',
    namespaces: [...PROCESSES, '--mount', '--mount-proc'],
    hidesFiles: true,
  },
  {
    // Containers that hide parts of /proc let nobody mount another one.
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
/** As root of the machine; else as root of a user namespace, which an ordinary user may make. */
const USERS: readonly (readonly string[])[] = [[], ['--user', '--map-root-user']];
/** Root needs no capability to write what is in them, nor to read a disk by its device. */
const ROOT_FOLDERS = process.getuid?.() === 0 ? '/proc /sys' : '';
/** The shell stays as process 1: that one could not even kill itself. */
const RUN = 'setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@" & wait "$!"';
/**
 * Arguments: work folder, data folder, files to hide, `--`, command. The data folder is covered, and its work folder put
 * back; each file is covered by an empty one. Of the root file system only the work folder and `/tmp` stay writable.
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

/** Looked at once per process, by starting a program in the way in which decoders are started. */
export function decoderIsolation(): DecoderIsolation {
  return probe().isolation;
}

/** Says at the start of a process what its decoders can reach. */
export function reportDecoderIsolation(log: Logger): void {
  const { level, description, reason } = decoderIsolation();
  if (level === 'full') log.info(`decoders ${description}`);
  else log.warn({ reason }, `decoders ${description}`);
}

/** The command that runs `command` with as much isolation as the kernel allows. */
export function isolatedCommand(command: readonly string[]): readonly string[] {
  try {
    // A folder that is made later would be on the read-only root for a child that has started.
    mkdirSync(workFolderPath(), { recursive: true, mode: 0o700 });
  } catch {
    // Work that needs it fails by itself.
  }
  return probe().start(command);
}

/**
 * Whether an ordinary child, which has the same user, can read the environment variables of this process. The kernel
 * denies it where this user cannot read the program of the process: see infra/deploy/Dockerfile.
 */
export function isEnvironmentReadable(): boolean {
  return run(['/bin/sh', '-c', ': < "/proc/$PPID/environ"']) === undefined;
}

function probe() {
  known ??= findBestLevel();
  return known;
}

function findBestLevel(): NonNullable<typeof known> {
  // A decoder without its capabilities must still reach its own program.
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

/** Why a command failed; undefined when it did not. */
function run([program = '', ...args]: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, args, {
    ...{ env: {}, encoding: 'utf8', timeout: PROBE_TIMEOUT_MS, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  if (status === 0) return undefined;
  const reason = error?.message ?? (stderr.trim().split('\n')[0] || `exit code ${status}`);
  return reason.slice(0, MAX_REASON_LENGTH);
}

interface Means extends Pick<IsolationLevel, 'namespaces' | 'hidesFiles'> {
  user: readonly string[];
}

function wrap({ user, namespaces, hidesFiles }: Means, command: readonly string[]): readonly string[] {
  const hidden = [workFolderPath(), dataFolderPath(), ...secretFilePaths(), '--'];
  const script = hidesFiles ? [HIDE_AND_RUN, 'sh', ...hidden] : [RUN, 'sh'];
  return ['unshare', ...user, ...namespaces, '--', '/bin/sh', '-c', ...script, ...command];
}

function workFolderPath(): string {
  return path.join(dataFolderPath(), 'tmp');
}
