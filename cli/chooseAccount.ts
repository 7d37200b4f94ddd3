import type pg from 'pg';
import { findAccount, listAccounts } from '../infra/postgres/accounts.ts';
import { CommandError } from './commandError.ts';
import type { DatabaseEnvironment } from './withDatabase.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The named account. Without a name: the demo account of a running `npm start`, or the only account. */
export async function chooseAccount(
  pool: pg.Pool,
  environment: DatabaseEnvironment,
  named: string | undefined,
): Promise<string> {
  const wanted = named ?? environment.demoAccountId;
  if (wanted !== undefined) {
    const account = UUID.test(wanted) ? await findAccount(pool, wanted) : undefined;
    if (account === undefined) throw new CommandError(`no account ${wanted}; see \`farebox accounts list\``);
    return account.id;
  }
  const [only, another] = await listAccounts(pool, 2);
  if (only === undefined) throw new CommandError('no account yet; see `farebox accounts create --help`');
  if (another !== undefined) throw new CommandError('several accounts: name one with --account <id>');
  return only.id;
}

export function requireUuid(text: string, what: string): string {
  if (!UUID.test(text)) throw new CommandError(`${what} is a UUID, found ${JSON.stringify(text)}`);
  return text.toLowerCase();
}
