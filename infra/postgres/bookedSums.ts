/** Sums over the unsealed part of the ledger, collected slice by slice. */
import type { BookedSum } from './checkSlice.ts';

export class BookedSums {
  readonly #byAccount = new Map<string, Map<string, BookedSum>>();

  /** Number of combinations of account, key, currency and day. */
  size = 0;

  add(sums: Iterable<BookedSum>): void {
    for (const { accountId, keyId, currency, bookedDay, amount } of sums) {
      const sum = { accountId, keyId, currency, bookedDay, amount };
      const ofAccount = this.#byAccount.get(accountId) ?? new Map<string, BookedSum>();
      this.#byAccount.set(accountId, ofAccount);
      const place = `${keyId ?? ''} ${currency} ${bookedDay}`;
      const before = ofAccount.get(place);
      if (before === undefined) this.size += 1;
      ofAccount.set(place, before ? { ...before, amount: before.amount + amount } : sum);
    }
  }

  of(accountIds: readonly string[]): BookedSum[] {
    return accountIds.flatMap((accountId) => [...(this.#byAccount.get(accountId)?.values() ?? [])]);
  }

  *[Symbol.iterator](): Iterator<BookedSum> {
    for (const ofAccount of this.#byAccount.values()) yield* ofAccount.values();
  }
}
