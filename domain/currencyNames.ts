/** Published names of the currencies (ACCOUNT-10). */
import type { Currency } from './money.ts';

export const CURRENCY_NAMES = {
  diem: 'DIEM',
  bundled: 'BUNDLED_CREDITS',
  usd: 'USD',
  vcu: 'VCU',
} as const satisfies Record<Currency, string>;
