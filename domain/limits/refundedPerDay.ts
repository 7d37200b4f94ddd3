import { type Nano, nanoFromNumber } from '../money.ts';

/** The configuration's `limits`, as far as refunds go; in whole USD. */
export interface RefundLimits {
  refundedPerDay: number;
  overrides: Readonly<Record<string, { refundedPerDay?: number | undefined }>>;
}

/** Provider work that an account is refunded per UTC day although it was paid for, in nano USD by list price. */
export function refundedPerDayOf(limits: RefundLimits, accountId: string): Nano {
  return nanoFromNumber(limits.overrides[accountId]?.refundedPerDay ?? limits.refundedPerDay) ?? 0n;
}
