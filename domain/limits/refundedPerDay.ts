import { type Nano, nanoFromNumber } from '../money.ts';

/** Part of the configuration's `limits` about refunds, in whole USD. */
export interface RefundLimits {
  refundedPerDay: number;
  overrides: Readonly<Record<string, { refundedPerDay?: number | undefined }>>;
}

/** Paid provider work that an account is refunded per UTC day, in nano USD by list price. */
export function refundedPerDayOf(limits: RefundLimits, accountId: string): Nano {
  return nanoFromNumber(limits.overrides[accountId]?.refundedPerDay ?? limits.refundedPerDay) ?? 0n;
}
