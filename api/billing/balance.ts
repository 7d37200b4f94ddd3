/** GET /billing/balance (ACCOUNT-8): the spendable balance, and the currency of the next charge. */

import { CURRENCY_NAMES } from '../../domain/currencyNames.ts';
import { FareboxError } from '../../domain/errors.ts';
import { canConsume } from '../../domain/ledger.ts';
import { type Nano, nanoToNumberDown, SPEND_ORDER } from '../../domain/money.ts';
import { type Balance, balanceOf } from '../../infra/postgres/ledger.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { BILLING_DESCRIPTIONS } from './openapi.ts';

export const billingBalance = defineRoute({
  method: 'GET',
  path: '/billing/balance',
  access: 'admin',
  describes: BILLING_DESCRIPTIONS.balance,
  async handler({ core: { sql } }, { caller }) {
    const balance = await balanceOf(sql, caller.accountId);
    if (!balance) {
      throw new FareboxError({
        code: 'internal',
        message: 'Internal server error',
        internal: 'a key without account',
      });
    }
    return json(presentBalance(balance));
  },
});

/** Balances that a JSON number cannot represent are rounded down: no answer shows credit that does not exist. */
export function presentBalance(balance: Balance) {
  const first = SPEND_ORDER.find((currency) => balance[currency] > 0n);
  return {
    canConsume: canConsume(balance),
    consumptionCurrency: first ? CURRENCY_NAMES[first] : null,
    balances: {
      diem: balance.diemAllocation > 0n ? nanoToNumberDown(balance.diem) : null,
      usd: whenPositive(balance.usd),
    },
    diemEpochAllocation: nanoToNumberDown(balance.diemAllocation),
  };
}

function whenPositive(amount: Nano): number | null {
  return amount > 0n ? nanoToNumberDown(amount) : null;
}
