import type { Command } from 'commander';
import { checkLedger } from '../infra/postgres/ledgerCheck.ts';
import { print, type Row, table, toJson } from './output.ts';
import { withDatabase } from './withDatabase.ts';

export function addLedgerCommands(program: Command): void {
  const ledger = program.command('ledger').description('the ledger');
  ledger
    .command('check')
    .description('check every invariant of the books; exits 1 with the rows that break one')
    .option('--json', 'print JSON')
    .action(check);
}

async function check(options: { json?: boolean }): Promise<void> {
  const broken = await withDatabase((pool) => checkLedger(pool));
  const text =
    broken.length === 0
      ? 'ledger: every invariant holds'
      : broken.map(({ invariant, rows }) => `BROKEN: ${invariant}\n${rowsText(rows)}`).join('\n\n');
  print(options, { json: { ok: broken.length === 0, broken }, text });
  if (broken.length > 0) process.exitCode = 1;
}

function rowsText(rows: readonly unknown[]): string {
  return table(rows.map(flat), 'no row');
}

function flat(row: unknown): Row {
  if (typeof row !== 'object' || row === null) return { row: String(row) };
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, typeof value === 'string' ? value : toJson(value)]),
  );
}
