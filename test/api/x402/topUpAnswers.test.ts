import { describe, expect, it } from 'vitest';
import { failedBody, inProgressBody, timeoutBody } from '../../../api/x402/schema.ts';
import { topUpStateAnswer } from '../../../api/x402/topUpAnswers.ts';
import type { TopUpState } from '../../../domain/payments/topUp.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import type { TopUpRow } from '../../../infra/postgres/topUps.ts';
import { somePayment, TRANSACTION } from '../../payments/scriptedNetwork.ts';

/** Unused, because these answers need no balance. */
const sql = openPool({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'test' });
const paymentId = `x402-${'0'.repeat(32)}`;

function rowIn(state: TopUpState, transaction?: string): TopUpRow {
  const payment = somePayment();
  return {
    ...{ paymentId, network: payment.network, payer: payment.payer, accountId: '', terms: '', state },
    ...{ settlements: 1, payment, transaction, creditedNano: undefined, reason: 'inner words' },
    ...{ requestId: '', decimals: 6, isGone: false },
  };
}

describe('a payment that is not credited', () => {
  it.each(['recorded', 'settling', 'sent', 'unknown'] as const)(
    'and is %s is reported as pending with its transaction: 504 at first, 409 on repetition',
    async (state) => {
      const row = rowIn(state, TRANSACTION);
      const first = await topUpStateAnswer(sql, { paymentId, row, known: false }, false);
      const again = await topUpStateAnswer(sql, { paymentId, row, known: true }, false);
      const details = { status: 'pending', paymentId, transaction: TRANSACTION };
      expect(first).toMatchObject({ status: 504, headers: { 'Retry-After': '2' }, body: { details } });
      expect(again).toMatchObject({ status: 409, headers: { 'Retry-After': '2' }, body: { details } });
      expect(timeoutBody.parse('body' in first && first.body).message).toContain('do not sign another one');
      expect(inProgressBody.parse('body' in again && again.body).error).toBe('PAYMENT_IN_PROGRESS');
    },
  );

  it('and is not written down yet is told as pending', async () => {
    const answer = await topUpStateAnswer(sql, { paymentId, row: undefined, known: false }, false);
    expect(answer).toMatchObject({ status: 504, body: { details: { status: 'pending', paymentId } } });
  });

  it.each(['refused', 'failed', 'wrong'] as const)('and is %s gives a failure in public words', async (state) => {
    const answer = await topUpStateAnswer(sql, { paymentId, row: rowIn(state), known: true }, false);
    expect(answer.status).toBe(402);
    const body = failedBody.parse('body' in answer && answer.body);
    expect(body.details).toEqual({ status: state, paymentId });
    expect(JSON.stringify(body)).not.toContain('inner words');
  });
});
