/**
 * Runs a program that refuses to run as root (Postgres) for root: in its own user namespace, or where those are
 * forbidden (containers) as `nobody` with the right to reach data in folders of others.
 */
import { runCommand } from './runCommand.ts';

export interface UserSwitch {
  wrap(command: string, args: readonly string[]): { command: string; args: string[] };
  /** Required owner of the files, as seen from outside. Undefined when any owner works. */
  ownerId?: number;
}

const NOBODY = 65_534;
const IDENTITY = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
const REACH = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];

const WAYS = [
  { prefix: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`], ownerId: 0 },
  { prefix: ['setpriv', ...IDENTITY, ...REACH], ownerId: NOBODY },
  { prefix: ['setpriv', ...IDENTITY], ownerId: NOBODY },
];

/** Returns a way to run `program` in `folder`, which root owns. Throws when this is root and no way works. */
export async function asOrdinaryUser(program: string, folder: string): Promise<UserSwitch> {
  if (process.getuid?.() !== 0) return { wrap: (command, args) => ({ command, args: [...args] }) };
  for (const { prefix, ownerId } of WAYS) {
    const wrap = wrapIn(prefix);
    const reaches = wrap('test', ['-x', program, '-a', '-d', folder]);
    if ((await runCommand(reaches.command, reaches.args, { timeoutMs: 5_000 })).code === 0) return { wrap, ownerId };
  }
  throw new Error(
    'Postgres does not run as root, and neither "unshare --user" nor "setpriv" (both of util-linux) could run it as ' +
      `an ordinary user in ${folder}: start Farebox as an ordinary user, or set DATABASE_URL`,
  );
}

function wrapIn(prefix: readonly string[]): UserSwitch['wrap'] {
  return (command, args) => {
    const [first = command, ...rest] = [...prefix, command, ...args];
    return { command: first, args: rest };
  };
}
