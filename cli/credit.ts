import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { formatNano, type Nano } from '../domain/money.ts';
import { balanceOf, grant } from '../infra/postgres/ledger.ts';
import { readPositiveAmount } from './arguments.ts';
import { chooseAccount } from './chooseAccount.ts';
import { list, print } from './output.ts';
import { withDatabase } from './withDatabase.ts';

interface GrantOptions {
  account?: string;
  amount: Nano;
  currency: 'usd' | 'bundled' | 'vcu';
  note: string;
  operationId?: string;
  json?: boolean;
}

const NOTES = 'granted by the operator';

export function addCreditCommands(program: Command): void {
  const credit = program.command('credit').description('credit: what accounts can spend');
  credit
    .command('grant')
    .description('give an account credit (diem is given by its daily allocation)')
    .requiredOption('--amount <amount>', 'a decimal number of whole units, e.g. 12.5', readPositiveAmount)
    .option('--account <id>', 'the account (default: the demo account, or the only one)')
    .addOption(new Option('--currency <currency>', 'what is given').choices(['usd', 'bundled', 'vcu']).default('usd'))
    .option('--note <text>', 'why, for the audit trail', NOTES)
    .option('--operation-id <id>', 'makes repeating safe: the same id is credited once')
    .option('--json', 'print JSON')
    .action(give);
}

async function give(options: GrantOptions): Promise<void> {
  await withDatabase(async (pool, environment) => {
    const accountId = await chooseAccount(pool, environment, options.account);
    const operationId = options.operationId ?? `grant-${randomUUID()}`;
    const { currency, amount, note } = options;
    // The note goes to the audit trail only, because the ledger is kept when an account is erased.
    const { replayed } = await grant(pool, { operationId, accountId, currency, amount, notes: NOTES, note });
    const balance = await balanceOf(pool, accountId);
    const answer = {
      accountId,
      operationId,
      granted: formatNano(amount),
      currency,
      replayed,
      usd: formatNano(balance?.usd ?? 0n),
      bundled: formatNano(balance?.bundled ?? 0n),
      vcu: formatNano(balance?.vcu ?? 0n),
      diem: formatNano(balance?.diem ?? 0n),
    };
    print(options, { json: answer, text: list(answer) });
  });
}
