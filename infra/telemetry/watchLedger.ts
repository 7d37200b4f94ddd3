/** Counts, times and traces the statements of the ledger. */
import { ledgerBatchSize, ledgerSeconds } from './counters.ts';
import { keepLabelled } from './labelled.ts';
import { inSpan, type SpanStart } from './spans.ts';

interface LedgerStep {
  operation: string;
  /** Calls in the statement. */
  size: number;
}

export function ledgerSpan(operation: string): SpanStart {
  return statementSpan(`ledger ${operation}`, operation);
}

function statementSpan(name: string, operation: string): SpanStart {
  return {
    name,
    kind: 'client',
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': operation },
  };
}

const sizes = keepLabelled(ledgerBatchSize);
const times = keepLabelled(ledgerSeconds);

/** A batch belongs to several requests, so it is counted here, and each call has its own span. */
export async function countLedgerBatch<T>(steps: readonly LedgerStep[], run: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  let outcome = 'failed';
  try {
    const result = await run();
    outcome = 'answered';
    return result;
  } finally {
    const seconds = (performance.now() - startedAt) / 1000;
    for (const { operation, size } of steps) {
      if (size === 0) continue;
      sizes(operation).observe(size);
      times(operation, outcome).observe(seconds);
    }
  }
}

const PREFIX = 'ledger_';

/** Counts statements whose prepared name begins with `ledger_`, and traces all. */
export function watchStatement<T>(name: string, run: () => Promise<T>): Promise<T> {
  if (!name.startsWith(PREFIX)) return inSpan(statementSpan(name, name), run);
  const operation = name.slice(PREFIX.length);
  return inSpan(ledgerSpan(operation), () => countLedgerBatch([{ operation, size: 1 }], run));
}
