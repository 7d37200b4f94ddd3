/** Statements of holds and resolutions: any number of both in one statement. */
import type { LedgerPrice, PriceSnapshot } from '../../domain/ledger.ts';
import { countLedgerBatch } from '../telemetry/watchLedger.ts';
import { type AdmitRequest, type AdmitRow, admitArguments, arrayText, quoted, quotedJson } from './ledgerRows.ts';
import type { PipelinedConnection } from './pipelinedConnection.ts';

export interface Resolution {
  operationId: string;
  /** Account, where the caller knows it. */
  accountId: string | undefined;
  resolution: 'settled' | 'released';
  price: LedgerPrice;
  details: Partial<PriceSnapshot> | undefined;
}

export type LedgerCall = { hold: AdmitRequest } | { resolve: Resolution };
/** `limited` and `state` are null for a resolution. */
export type LedgerRow = AdmitRow;

/**
 * Returns rows in the order of the calls. Funds that resolutions release are available to the holds of the same
 * statement.
 */
export async function runLedgerCalls(
  connection: PipelinedConnection,
  batch: readonly LedgerCall[],
): Promise<LedgerRow[]> {
  const holds: AdmitRequest[] = [];
  const resolutions: Resolution[] = [];
  for (const call of batch) {
    if ('hold' in call) holds.push(call.hold);
    else resolutions.push(call.resolve);
  }
  const steps = [
    { operation: 'hold', size: holds.length },
    { operation: 'resolve', size: resolutions.length },
  ];
  const rows = await countLedgerBatch(steps, () => runStatement(connection, holds, resolutions));
  // Both are in one result: resolutions first.
  let held = resolutions.length;
  let resolved = 0;
  return batch.map((call) => rows['hold' in call ? held++ : resolved++] as LedgerRow);
}

async function runStatement(
  connection: PipelinedConnection,
  holds: AdmitRequest[],
  resolutions: Resolution[],
): Promise<LedgerRow[]> {
  if (resolutions.length === 0) return await query(connection, HOLD, admitArguments(holds));
  if (holds.length === 0) return await query(connection, RESOLVE, resolveArguments(resolutions));
  return await query(connection, BOTH, [...resolveArguments(resolutions), ...admitArguments(holds)]);
}

const PARTS = 'coalesce(part_diem, 0), coalesce(part_bundled, 0), coalesce(part_usd, 0)';
const ADMITTED = asOutcome(`outcome, coalesce(limited, ''), ${PARTS}, coalesce(state, ''), replayed`);
const RESOLVED = asOutcome(`outcome, '', ${PARTS}, '', replayed`);
const HOLD = {
  name: 'ledger_hold',
  text: `select ${ADMITTED} from ledger_hold($1, $2, $3, $4, $5, $6, $7)`,
};
const RESOLVE = {
  name: 'ledger_end_holds',
  text: `select ${RESOLVED} from ledger_end_holds($1, $2, $3, $4, $5)`,
};
const BOTH = {
  name: 'ledger_resolve_and_hold',
  text: `select ${ADMITTED} from ledger_resolve_and_hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
};

/** Writes a row as one text column: the library creates parsers for the columns of each result. Bench `ledger`. */
function asOutcome(columns: string): string {
  return `concat_ws(',', ${columns}) as outcome_text`;
}

async function query(
  connection: PipelinedConnection,
  statement: { name: string; text: string },
  values: string[],
): Promise<LedgerRow[]> {
  return (await connection.query<{ outcome_text: string }>({ values, ...statement })).map(readRow);
}

function readRow({ outcome_text: text }: { outcome_text: string }): LedgerRow {
  const [outcome = '', limited, diem = '', bundled = '', usd = '', state, replayed] = text.split(',');
  return {
    outcome,
    limited: limited === 'usd' || limited === 'diem' ? limited : null,
    part_diem: diem,
    part_bundled: bundled,
    part_usd: usd,
    state: state || null,
    replayed: replayed === 't',
  };
}

function resolveArguments(requests: readonly Resolution[]): string[] {
  return [
    arrayText(requests, ({ operationId }) => quoted(operationId)),
    arrayText(requests, ({ resolution }) => resolution),
    arrayText(requests, ({ price }) => price.usd.toString()),
    arrayText(requests, ({ price }) => price.diem.toString()),
    arrayText(requests, ({ details }) => (details ? quotedJson(details) : 'NULL')),
  ];
}
