/** What the currencies of the ledger are called outside (specification 2.4, 2.7). */
import type { Currency } from './money.ts';

export const CURRENCY_NAMES = {
  diem: 'DIEM',
  bundled: 'BUNDLED_CREDITS',
  usd: 'USD',
  vcu: 'VCU',
} as const satisfies Record<Currency, string>;
