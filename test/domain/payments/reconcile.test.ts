import { describe, expect, it } from 'vitest';
import {
  type BookedPayment,
  type ChainPayment,
  compareWithBooks,
  creditedWithoutPayment,
} from '../../../domain/payments/reconcile.ts';

const PAID: ChainPayment = {
  paymentId: 'p1',
  network: 'eip155:8453',
  transaction: '0xaa',
  amount: '5000000',
};
const BOOKED: BookedPayment = {
  ...{ paymentId: 'p1', network: 'eip155:8453', state: 'credited' },
  ...{ transaction: '0xaa', creditedUnits: '5000000' },
};

describe('a payment on the chain, compared with the books', () => {
  it.each([
    ['credited by the same amount', {}],
    ['written down', { state: 'recorded', transaction: undefined, creditedUnits: undefined }],
    ['handed in', { state: 'settling', transaction: undefined, creditedUnits: undefined }],
    ['sent', { state: 'sent', creditedUnits: undefined }],
    ['perhaps sent', { state: 'unknown', creditedUnits: undefined }],
    ['refused, and looked for still', { state: 'refused', creditedUnits: undefined }],
  ] as const)('matches one that is %s', (_what, more) => {
    expect(compareWithBooks(PAID, { ...BOOKED, ...more })).toBeUndefined();
  });

  it.each([
    ['not booked', undefined],
    ['not credited', { state: 'failed', creditedUnits: undefined }],
    ['not credited', { state: 'wrong', creditedUnits: undefined }],
    ['credited otherwise', { creditedUnits: '4999999' }],
    ['credited otherwise', { creditedUnits: undefined }],
    ['credited otherwise', { transaction: '0xbb' }],
    ['credited otherwise', { transaction: undefined }],
  ] as const)('is %s if the books have %j', (kind, more) => {
    const booked = more && { ...BOOKED, ...more };
    expect(compareWithBooks(PAID, booked)).toEqual({
      ...{ kind, paymentId: 'p1', network: 'eip155:8453', transaction: '0xaa', paidUnits: '5000000' },
      creditedUnits: booked?.creditedUnits,
    });
  });
});

describe('a payment in the books, compared with the chains', () => {
  it('is missing only when it was credited and is on no chain', () => {
    const books: BookedPayment[] = [
      BOOKED,
      { ...BOOKED, paymentId: 'p2', transaction: '0xbb' },
      { ...BOOKED, paymentId: 'p3', state: 'failed', creditedUnits: undefined },
      { ...BOOKED, paymentId: 'p4', state: 'sent', creditedUnits: undefined },
    ];
    expect(creditedWithoutPayment(books, new Set(['p1', 'p9']))).toEqual([
      {
        ...{ kind: 'not on the chain', paymentId: 'p2', network: 'eip155:8453', transaction: '0xbb' },
        ...{ paidUnits: undefined, creditedUnits: '5000000' },
      },
    ]);
    expect(creditedWithoutPayment(books, new Set(['p1', 'p2']))).toEqual([]);
  });
});
