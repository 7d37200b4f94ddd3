/**
 * Namespaces for the children that decode foreign bytes. A decoder that is taken over sees no other process, no network,
 * neither the data folder nor a secret file, and has no capability. Needs Linux with `unshare`, `mount` and `setpriv` of
 * util-linux, and a kernel that lets this user make namespaces; `decoderIsolation` tells whether that is so.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataFolderPath, secretFilePaths } from '../config/environment.ts';
import type { Logger } from '../log.ts';

export type DecoderIsolation =
  | { isolated: true }
  /** `reason`: one line of the program that failed. */
  | { isolated: false; reason: string };

const UNSHARE = ['--pid', '--fork', '--kill-child', '--mount', '--mount-proc', '--net', '--ipc'];
/** As root of the machine; else as root of a user namespace, which an ordinary user may make. */
const MODES: readonly (readonly string[])[] = [[], ['--user', '--map-root-user']];
/**
 * Arguments: work folder, data folder, files to hide, `--`, command. The data folder is covered, and its work folder put
 * back; each file is covered by an empty one. The shell stays as process 1: that one could not even kill itself.
 */
const HIDE_AND_RUN = `work=$1 data=$2; shift 2
if [ -d "$data" ]; then
  mkdir -p "$work" && cd "$work" && mount -t tmpfs -o size=64k,mode=0755 farebox "$data" && mkdir -p "$work" &&
    mount -c --bind . "$work" && cd / || exit 125
fi
while [ "$1" != -- ]; do [ ! -e "$1" ] || mount --bind /dev/null "$1" || exit 125; shift; done; shift
setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@" & wait "$!"`;
const PROBE_TIMEOUT_MS = 10_000;
const MAX_REASON_LENGTH = 200;

let known: { mode: readonly string[] | undefined; reason: string } | undefined;

/** Looked at once per process, by starting a program in the way in which decoders are started. */
export function decoderIsolation(): DecoderIsolation {
  const { mode, reason } = probe();
  return mode ? { isolated: true } : { isolated: false, reason };
}

/** Says at the start of a process what its decoders can reach. */
export function reportDecoderIsolation(log: Logger): void {
  const found = decoderIsolation();
  if (found.isolated) {
    log.info('decoders run without network, in namespaces of their own');
    return;
  }
  log.warn(
    { reason: found.reason },
    'decoders are not isolated: they can reach the network, and read what this user can read',
  );
}

/** The command that runs `command` in namespaces of its own; the command itself where there can be none. */
export function isolatedCommand(command: readonly string[]): readonly string[] {
  const { mode } = probe();
  return mode ? wrap(mode, command) : command;
}

function probe() {
  known ??= firstThatWorks();
  return known;
}

function firstThatWorks() {
  // A decoder without its capabilities must still reach its own program.
  const command = ['test', '-r', fileURLToPath(import.meta.url)];
  let reason = '';
  for (const mode of MODES) {
    const [program = '', ...args] = wrap(mode, command);
    const { status, stderr, error } = spawnSync(program, args, {
      ...{ env: {}, encoding: 'utf8', timeout: PROBE_TIMEOUT_MS, stdio: ['ignore', 'ignore', 'pipe'] },
    });
    if (status === 0) return { mode, reason: '' };
    reason = error?.message ?? (stderr.trim().split('\n')[0] || `exit code ${status}`);
  }
  return { mode: undefined, reason: reason.slice(0, MAX_REASON_LENGTH) };
}

function wrap(mode: readonly string[], command: readonly string[]): readonly string[] {
  const data = dataFolderPath();
  const hidden = [path.join(data, 'tmp'), data, ...secretFilePaths(), '--'];
  return ['unshare', ...mode, ...UNSHARE, '--', '/bin/sh', '-c', HIDE_AND_RUN, 'sh', ...hidden, ...command];
}
