/** Refusals for lack of funds, in the same words for a request and for a job (API-10). */
export interface FundsRefusal {
  code: 'insufficient_balance' | 'key_limit_exceeded';
  message: string;
}

export const INSUFFICIENT: FundsRefusal = {
  code: 'insufficient_balance',
  message: 'Insufficient USD or Diem balance to complete request.',
};

export function keyLimitReached(currency: 'usd' | 'diem'): FundsRefusal {
  return { code: 'key_limit_exceeded', message: `API key ${currency.toUpperCase()} spend limit exceeded.` };
}
