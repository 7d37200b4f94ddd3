/**
 * Memory budget for large answers, which stay whole in memory until their client has read them. A client that sends
 * requests and does not read the answers must not use up the memory of the process or the share of other accounts. Smaller
 * answers are not counted.
 */
const LARGE_BYTES = 1024 * 1024;
/** A few of the largest (providers/rpc: 25 MB). */
const MAX_ACCOUNT_BYTES = 64 * 1024 * 1024;
const MAX_BYTES = 512 * 1024 * 1024;
export const BUDGET_EXCEEDED = 'no room';

export class AnswerBudget {
  #heldBytes = 0;
  readonly #heldByAccount = new Map<string, number>();

  /** Returns a function that releases the bytes; undefined for an answer that is not large. */
  take(accountId: string, sizeBytes: number): (() => void) | undefined | typeof BUDGET_EXCEEDED {
    if (sizeBytes <= LARGE_BYTES) return undefined;
    const own = this.#heldByAccount.get(accountId) ?? 0;
    if (own + sizeBytes > MAX_ACCOUNT_BYTES || this.#heldBytes + sizeBytes > MAX_BYTES) return BUDGET_EXCEEDED;
    this.#hold(accountId, sizeBytes);
    let isHeld = true;
    return () => {
      if (isHeld) this.#hold(accountId, -sizeBytes);
      isHeld = false;
    };
  }

  #hold(accountId: string, sizeBytes: number): void {
    this.#heldBytes += sizeBytes;
    const own = (this.#heldByAccount.get(accountId) ?? 0) + sizeBytes;
    if (own === 0) this.#heldByAccount.delete(accountId);
    else this.#heldByAccount.set(accountId, own);
  }
}
