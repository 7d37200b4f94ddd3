/** Exit codes: 1 when the answer to the question is "no" (a broken ledger, a wrong configuration), 2 when it was not answered. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 2) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** One line, also for errors that carry others, as a refused connection to several addresses does. */
export function errorLine(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorLine(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.message || error.name;
}
