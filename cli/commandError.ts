/** Exit code 1: the check failed (a broken ledger, a wrong configuration). Exit code 2: the check could not run. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 2) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** One line. For an `AggregateError` (as from a refused connection to several addresses) its first error. */
export function errorLine(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorLine(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.message || error.name;
}
