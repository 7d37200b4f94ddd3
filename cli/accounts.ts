import type { Command } from 'commander';
import type pg from 'pg';
import { formatNano, type Nano } from '../domain/money.ts';
import {
  type AccountAct,
  eraseAccount,
  resumeAccount,
  suspendAccount,
} from '../infra/postgres/accountAdministration.ts';
import { type Account, createAccount, findAccount, listAccounts } from '../infra/postgres/accounts.ts';
import { recordAct } from '../infra/postgres/audit.ts';
import { inTransaction } from '../infra/postgres/pool.ts';
import { readAmount, readLimit } from './arguments.ts';
import { requireUuid } from './chooseAccount.ts';
import { CommandError } from './commandError.ts';
import { list, print, table, time } from './output.ts';
import { withDatabase } from './withDatabase.ts';

export function addAccountCommands(program: Command): void {
  const accounts = program.command('accounts').description('accounts: who owns balances and keys');
  accounts
    .command('create')
    .description('open an account with empty balances')
    .requiredOption('--name <name>', 'what the account is called')
    .option('--diem-daily <amount>', 'diem that each UTC day starts with (default: 0)', readAmount)
    .option('--json', 'print JSON')
    .action(create);
  accounts
    .command('list')
    .description('list accounts, oldest first')
    .option('--limit <count>', 'at most so many', readLimit, 100)
    .option('--json', 'print JSON')
    .action(listAll);
  for (const [name, { description, act }] of Object.entries(ACTS)) {
    accounts
      .command(`${name} <id>`)
      .description(description)
      .option('--json', 'print JSON')
      .action((id: string, options: { json?: boolean }) => change(id, { name, act }, options));
  }
}

type Act = (pool: pg.Pool, accountId: string) => Promise<AccountAct>;

const ACTS: Record<string, { description: string; act: Act }> = {
  suspend: { description: 'refuse every call of the account from now on', act: suspendAccount },
  resume: { description: 'take back a suspension', act: resumeAccount },
  erase: {
    description: 'remove the personal data of a suspended account and revoke its keys; its books are kept',
    act: eraseAccount,
  },
};

async function change(
  id: string,
  { name, act }: { name: string; act: Act },
  options: { json?: boolean },
): Promise<void> {
  const accountId = requireUuid(id, 'the id of an account');
  await withDatabase(async (pool) => {
    const done = await act(pool, accountId);
    if (done.outcome === 'refused') {
      throw new CommandError(`cannot ${name} account ${accountId}: ${done.reason}`);
    }
    const account = await findAccount(pool, accountId);
    if (!account) throw new CommandError(`no account ${accountId}; see \`farebox accounts list\``);
    print(options, { json: view(account), text: list(view(account)) });
  });
}

async function create(options: { name: string; diemDaily?: Nano; json?: boolean }): Promise<void> {
  await withDatabase(async (pool) => {
    const account = await inTransaction(pool, async (client) => {
      const made = await createAccount(client, {
        name: options.name,
        diemDailyAllocation: options.diemDaily ?? 0n,
      });
      await recordAct(client, {
        ...{ accountId: made.id, actor: 'operator', action: 'account.create', targetId: made.id },
        changes: { name: made.name, diemDailyAllocation: formatNano(made.diemDailyAllocation) },
      });
      return made;
    });
    print(options, { json: view(account), text: list(view(account)) });
  });
}

async function listAll(options: { limit: number; json?: boolean }): Promise<void> {
  await withDatabase(async (pool) => {
    const accounts = (await listAccounts(pool, options.limit)).map(view);
    print(options, { json: { accounts }, text: table(accounts, 'no accounts') });
  });
}

function view(account: Account) {
  return {
    id: account.id,
    name: account.name,
    status: account.status,
    diemDaily: formatNano(account.diemDailyAllocation),
    createdAt: time(account.createdAt),
  };
}
