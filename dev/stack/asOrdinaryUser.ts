/**
 * How a program that refuses to run as root (Postgres) is run by root: in a user namespace of its own, and where
 * those are forbidden (containers) as `nobody`, who keeps the right to reach the data through folders of others.
 */
import { runCommand } from './runCommand.ts';

export interface UserSwitch {
  wrap(command: string, args: readonly string[]): { command: string; args: string[] };
  /** Who must own the files as seen from outside; undefined when nobody has to be asked. */
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

/** `program` is what will be run, `folder` (of root) what it works in. Throws when this is root and no way works. */
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
