import type { Command } from 'commander';
import { runLedgerCheck } from '../infra/postgres/ledgerCheck.ts';
import { print, type Row, table, toJson } from './output.ts';
import { withDatabase } from './withDatabase.ts';

export function addLedgerCommands(program: Command): void {
  const ledger = program.command('ledger').description('the ledger');
  ledger
    .command('check')
    .description(
      'check every invariant of the books and seal the days that are over; exits 1 with the rows that break one',
    )
    .option('--full', 'read the sealed days too, and compare them with their seals')
    .option('--json', 'print JSON')
    .action(check);
}

async function check({ full = false, ...options }: { full?: boolean; json?: boolean }): Promise<void> {
  const { broken, sealed, archivedUntil } = await withDatabase((pool) => runLedgerCheck(pool, { full, seal: true }));
  const text =
    broken.length === 0
      ? ['ledger: every invariant holds', ...sealedWords(sealed), ...archivedWords(archivedUntil)].join('; ')
      : broken.map(({ invariant, rows }) => `BROKEN: ${invariant}\n${rowsText(rows)}`).join('\n\n');
  print(options, { json: { ok: broken.length === 0, broken, sealed, archivedUntil }, text });
  if (broken.length > 0) process.exitCode = 1;
}

function sealedWords(days: readonly string[]): string[] {
  if (days.length === 0) return [];
  return [days.length === 1 ? `sealed ${days[0]}` : `sealed ${days.length} days to ${days.at(-1)}`];
}

function archivedWords(until: string | undefined): string[] {
  return until === undefined ? [] : [`transfers before ${until} are archived and known by their seals`];
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
