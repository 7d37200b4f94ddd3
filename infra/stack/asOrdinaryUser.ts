/**
 * How a program that refuses to run as root (Postgres) is run by root: in a user namespace of its own, and where
 * those are forbidden (containers) as `nobody` who keeps the right to reach the data folder through closed folders.
 */
import { run } from './run.ts';

export interface Unprivileged {
  wrap(command: string, args: readonly string[]): { command: string; args: string[] };
  /** Gives a folder, with all in it, to the user that `wrap` runs as. */
  own(folder: string): Promise<void>;
}

const NOBODY = '65534';
const NAMESPACE = ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`];
const CAPABILITY = '+dac_override,+dac_read_search';
const IDENTITY = [
  `--reuid=${NOBODY}`,
  `--regid=${NOBODY}`,
  '--clear-groups',
  `--inh-caps=${CAPABILITY}`,
  `--ambient-caps=${CAPABILITY}`,
];

/** Throws when this is root and neither way works; the message names both. */
export async function asOrdinaryUser(folder: string): Promise<Unprivileged> {
  if (process.getuid?.() !== 0) return through([], async () => undefined);
  const namespace = await run('unshare', [...NAMESPACE, 'true'], { timeoutMs: 5_000 });
  if (namespace.code === 0) return through(['unshare', ...NAMESPACE], chownTo('0'));
  const identity = await run('setpriv', [...IDENTITY, 'test', '-w', folder], { timeoutMs: 5_000 });
  if (identity.code === 0) return through(['setpriv', ...IDENTITY], chownTo(NOBODY));
  throw new Error(
    'Postgres does not run as root, and neither "unshare --user" nor "setpriv" (both of util-linux) ' +
      'could run it as an ordinary user here: start Farebox as an ordinary user, or set DATABASE_URL',
  );
}

function through(prefix: string[], own: Unprivileged['own']): Unprivileged {
  return {
    own,
    wrap(command, args) {
      const [first = command, ...rest] = [...prefix, command, ...args];
      return { command: first, args: rest };
    },
  };
}

function chownTo(uid: string): Unprivileged['own'] {
  return async (folder) => {
    await run('chown', ['-R', `${uid}:${uid}`, folder], { timeoutMs: 60_000 });
  };
}
