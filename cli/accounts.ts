import type { Command } from 'commander';
import { formatNano, type Nano } from '../domain/money.ts';
import { type Account, createAccount, listAccounts } from '../infra/postgres/accounts.ts';
import { recordAct } from '../infra/postgres/audit.ts';
import { inTransaction } from '../infra/postgres/pool.ts';
import { readAmount, readLimit } from './arguments.ts';
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
