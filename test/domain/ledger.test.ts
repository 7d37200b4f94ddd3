import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CHARGE_STATES,
  canConsume,
  type LedgerPrice,
  LIMIT_PERIODS,
  type Means,
  type Part,
  periodStart,
  restInUsd,
  type Split,
  splitPrice,
  unpaidPart,
} from '../../domain/ledger.ts';

function means(given: Partial<Means>): Means {
  return { diem: 0n, bundled: 0n, usd: 0n, keyUsd: undefined, keyDiem: undefined, ...given };
}

function covered(diem: bigint, bundled: bigint, usd: bigint): Split {
  return { outcome: 'covered', diem, bundled, usd };
}

const INSUFFICIENT: Split = { outcome: 'insufficient' };
const USD_LIMIT: Split = { outcome: 'key_limit', currency: 'usd' };
const DIEM_LIMIT: Split = { outcome: 'key_limit', currency: 'diem' };

describe('the split of a price over currencies', () => {
  const same = { usd: 10n, diem: 10n };
  it.each<[string, Partial<Means>, Split]>([
    ['takes diem first', { diem: 10n, bundled: 10n, usd: 10n }, covered(10n, 0n, 0n)],
    ['takes bundled credit second', { bundled: 10n, usd: 10n }, covered(0n, 10n, 0n)],
    ['takes usd last', { usd: 10n }, covered(0n, 0n, 10n)],
    ['splits over two', { diem: 4n, usd: 6n }, covered(4n, 0n, 6n)],
    ['splits over three', { diem: 4n, bundled: 5n, usd: 1n }, covered(4n, 5n, 1n)],
    ['takes the last nano there is', { diem: 1n, bundled: 1n, usd: 8n }, covered(1n, 1n, 8n)],
    ['refuses one nano too little', { diem: 1n, bundled: 1n, usd: 7n }, INSUFFICIENT],
    ['refuses an empty account', {}, INSUFFICIENT],
  ])('%s', (_name, given, expected) => {
    expect(splitPrice(same, means(given))).toEqual(expected);
  });

  it.each<[string, Partial<Means>, Split]>([
    ['a usd limit that fits exactly admits', { usd: 99n, keyUsd: 10n }, covered(0n, 0n, 10n)],
    ['a usd limit one nano short refuses by name', { usd: 99n, keyUsd: 9n }, USD_LIMIT],
    ['a usd limit counts bundled credit too', { bundled: 99n, keyUsd: 9n }, USD_LIMIT],
    ['a usd limit does not touch diem', { diem: 10n, keyUsd: 0n }, covered(10n, 0n, 0n)],
    ['a diem limit moves the rest to usd', { diem: 10n, usd: 99n, keyDiem: 4n }, covered(4n, 0n, 6n)],
    ['a diem limit that nothing else makes up for refuses by name', { diem: 10n, keyDiem: 4n }, DIEM_LIMIT],
    ['both limits in the way name usd', { diem: 10n, usd: 10n, keyDiem: 4n, keyUsd: 5n }, USD_LIMIT],
    ['an empty account is insufficient whatever the limits', { keyUsd: 0n, keyDiem: 0n }, INSUFFICIENT],
    ['funds one nano short are insufficient, not limited', { usd: 9n, keyUsd: 5n }, INSUFFICIENT],
    ['a limit lowered below what is spent admits nothing', { usd: 99n, keyUsd: -5n }, USD_LIMIT],
    ['a diem limit below what is spent takes no diem', { diem: 9n, usd: 10n, keyDiem: -5n }, covered(0n, 0n, 10n)],
  ])('%s', (_name, given, expected) => {
    expect(splitPrice(same, means(given))).toEqual(expected);
  });

  it.each<[string, bigint, bigint, Partial<Means>, Split]>([
    ['half the diem price leaves half the usd price', 30n, 10n, { diem: 5n, usd: 99n }, covered(5n, 0n, 15n)],
    ['the rest is rounded up once', 10n, 3n, { diem: 1n, usd: 99n }, covered(1n, 0n, 7n)],
    [
      'the rest is rounded up before bundled and usd share it',
      10n,
      3n,
      { diem: 1n, bundled: 3n, usd: 4n },
      covered(1n, 3n, 4n),
    ],
    ['no diem price: not sold for diem', 10n, 0n, { diem: 99n, usd: 10n }, covered(0n, 0n, 10n)],
    ['no usd price: diem pays all', 0n, 10n, { diem: 10n }, covered(10n, 0n, 0n)],
    ['no usd price: diem that pays a part is not enough', 0n, 10n, { diem: 9n, usd: 99n }, INSUFFICIENT],
    ['no usd price: the diem limit is named', 0n, 10n, { diem: 10n, keyDiem: 9n, usd: 99n }, DIEM_LIMIT],
    ['nothing costs nothing', 0n, 0n, {}, covered(0n, 0n, 0n)],
    ['nothing passes a limit that is used up', 0n, 0n, { keyUsd: -1n, keyDiem: -1n }, covered(0n, 0n, 0n)],
  ])('%s', (_name, usd, diem, given, expected) => {
    expect(splitPrice({ usd, diem }, means(given))).toEqual(expected);
  });
});

describe('every split', () => {
  const amount = fc.bigInt({ min: 0n, max: 2n ** 62n });
  const small = fc.bigInt({ min: 0n, max: 30n });
  const room = fc.option(fc.bigInt({ min: -5n, max: 30n }), { nil: undefined });
  const worlds = fc.record({
    price: fc.record({ usd: small, diem: small }),
    means: fc.record({ diem: small, bundled: small, usd: small, keyUsd: room, keyDiem: room }),
  });

  it('stays within funds and limits', () => {
    fc.assert(
      fc.property(worlds, ({ price, means: given }) => {
        const split = splitPrice(price, given);
        if (split.outcome !== 'covered') return;
        expect(split.diem).toBeLessThanOrEqual(given.diem);
        expect(split.bundled).toBeLessThanOrEqual(given.bundled);
        expect(split.usd).toBeLessThanOrEqual(given.usd);
        const inUsd = split.bundled + split.usd;
        if (given.keyUsd !== undefined && inUsd > 0n) expect(inUsd).toBeLessThanOrEqual(given.keyUsd);
        if (given.keyDiem !== undefined && split.diem > 0n) expect(split.diem).toBeLessThanOrEqual(given.keyDiem);
      }),
    );
  });

  it('takes no negative part, and pays the whole price', () => {
    fc.assert(
      fc.property(worlds, ({ price, means: given }) => {
        const split = splitPrice(price, given);
        if (split.outcome !== 'covered') return;
        for (const part of [split.diem, split.bundled, split.usd]) expect(part).toBeGreaterThanOrEqual(0n);
        expect(split.bundled + split.usd).toBe(restInUsd(price, split.diem));
      }),
    );
  });

  it('refuses by a limit exactly when the account could pay without limits', () => {
    fc.assert(
      fc.property(worlds, ({ price, means: given }) => {
        const split = splitPrice(price, given);
        const free = splitPrice(price, { ...given, keyUsd: undefined, keyDiem: undefined });
        if (split.outcome === 'key_limit') expect(free.outcome).toBe('covered');
        if (split.outcome === 'insufficient') expect(free.outcome).toBe('insufficient');
      }),
    );
  });

  it('names a limit whose removal alone would help, if there is one', () => {
    fc.assert(
      fc.property(worlds, ({ price, means: given }) => {
        const split = splitPrice(price, given);
        if (split.outcome !== 'key_limit') return;
        const without = (which: 'keyUsd' | 'keyDiem') =>
          splitPrice(price, { ...given, [which]: undefined }).outcome === 'covered';
        if (without('keyUsd')) expect(split.currency).toBe('usd');
        else if (without('keyDiem')) expect(split.currency).toBe('diem');
        else expect(split.currency).toBe('usd');
      }),
    );
  });

  it('costs no more usd with more diem, for any amount', () => {
    fc.assert(
      fc.property(amount, amount, amount, amount, (usd, diem, one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        const restOfLess = restInUsd({ usd, diem }, less);
        const restOfMore = restInUsd({ usd, diem }, more);
        if (restOfLess === undefined || restOfMore === undefined) return;
        expect(restOfMore).toBeLessThanOrEqual(restOfLess);
      }),
    );
  });

  it('loses less than one nano unit to rounding, in favour of the house', () => {
    fc.assert(
      fc.property(amount, amount, amount, (usd, diem, paid) => {
        fc.pre(usd > 0n && diem > 0n && paid < diem);
        const rest = restInUsd({ usd, diem }, paid) ?? 0n;
        const exact = usd * (diem - paid);
        expect(rest * diem).toBeGreaterThanOrEqual(exact);
        expect((rest - 1n) * diem).toBeLessThan(exact);
      }),
    );
  });
});

describe('the unpaid part of a price', () => {
  const same = { usd: 10n, diem: 20n };
  it.each<[string, LedgerPrice, Part[], LedgerPrice]>([
    ['all of it without a part', same, [], same],
    ['nothing of what diem paid', same, [{ currency: 'diem', amount: 20n }], { usd: 0n, diem: 0n }],
    ['nothing of what usd paid', same, [{ currency: 'usd', amount: 10n }], { usd: 0n, diem: 0n }],
    ['half of what diem paid half', same, [{ currency: 'diem', amount: 10n }], { usd: 5n, diem: 10n }],
    ['half of what bundled credit paid half', same, [{ currency: 'bundled', amount: 5n }], { usd: 5n, diem: 10n }],
    [
      'what both leave',
      same,
      [
        { currency: 'diem', amount: 10n },
        { currency: 'bundled', amount: 2n },
        { currency: 'usd', amount: 2n },
      ],
      { usd: 1n, diem: 2n },
    ],
    ['a whole nano of a part of one', { usd: 3n, diem: 2n }, [{ currency: 'diem', amount: 1n }], { usd: 2n, diem: 1n }],
    [
      'diem alone of what is sold for diem alone',
      { usd: 0n, diem: 9n },
      [{ currency: 'diem', amount: 4n }],
      { usd: 0n, diem: 5n },
    ],
    [
      'usd alone of what is sold for usd alone',
      { usd: 9n, diem: 0n },
      [{ currency: 'usd', amount: 4n }],
      { usd: 5n, diem: 0n },
    ],
    ['nothing where more was paid', same, [{ currency: 'usd', amount: 99n }], { usd: 0n, diem: 0n }],
    ['nothing of nothing', { usd: 0n, diem: 0n }, [], { usd: 0n, diem: 0n }],
  ])('is %s', (_what, price, parts, unpaid) => {
    expect(unpaidPart(price, parts)).toEqual(unpaid);
  });

  it('is no more than the price, and zero after it is paid in usd', () => {
    const part = fc.record({
      currency: fc.constantFrom('diem', 'bundled', 'usd'),
      amount: fc.bigInt({ min: 0n, max: 60n }),
    });
    const prices = fc.record({
      usd: fc.bigInt({ min: 1n, max: 99n }),
      diem: fc.bigInt({ min: 0n, max: 99n }),
    });
    fc.assert(
      fc.property(prices, fc.array(part, { maxLength: 3 }), (price, parts) => {
        const unpaid = unpaidPart(price, parts);
        for (const currency of ['usd', 'diem'] as const) {
          expect(unpaid[currency]).toBeGreaterThanOrEqual(0n);
          expect(unpaid[currency]).toBeLessThanOrEqual(price[currency]);
        }
        const paid = [...parts, { currency: 'usd' as const, amount: unpaid.usd }];
        expect(unpaidPart(price, paid)).toEqual({ usd: 0n, diem: 0n });
      }),
      { numRuns: 2_000 },
    );
  });

  it('is zero for a price that was covered', () => {
    const amount = fc.bigInt({ min: 0n, max: 2n ** 62n });
    const funds = fc.record({ diem: amount, bundled: amount, usd: amount });
    fc.assert(
      fc.property(funds, amount, amount, (account, usd, diem) => {
        const split = splitPrice({ usd, diem }, means(account));
        if (split.outcome !== 'covered') return;
        const parts = (['diem', 'bundled', 'usd'] as const).map((currency) => ({
          currency,
          amount: split[currency],
        }));
        expect(unpaidPart({ usd, diem }, parts)).toEqual({ usd: 0n, diem: 0n });
      }),
    );
  });
});

describe('an account', () => {
  it.each([
    [{ diem: 0n, bundled: 0n, usd: 0n }, false],
    [{ diem: 0n, bundled: 0n, usd: 99_999_999n }, false],
    [{ diem: 0n, bundled: 0n, usd: 100_000_000n }, true],
    [{ diem: 100_000_000n, bundled: 0n, usd: 0n }, true],
    [{ diem: 33_333_333n, bundled: 33_333_333n, usd: 33_333_334n }, true],
    [{ diem: 33_333_333n, bundled: 33_333_333n, usd: 33_333_333n }, false],
  ])('can pay for any call from a tenth of a unit on, in any currencies (%#)', (funds, can) => {
    expect(canConsume(funds)).toBe(can);
  });
});

describe('the first day of a limit period', () => {
  it.each([
    ['EPOCH', '2026-11-21', '2026-11-21'],
    ['EPOCH', '2024-02-29', '2024-02-29'],
    ['MONTH', '2026-11-21', '2026-11-01'],
    ['MONTH', '2026-11-01', '2026-11-01'],
    ['MONTH', '2024-02-29', '2024-02-01'],
    ['MONTH', '2026-12-31', '2026-12-01'],
    ['MONTH', '2027-01-01', '2027-01-01'],
    ['LIFETIME', '2026-11-21', undefined],
  ] as const)('%s on %s is %s', (period, day, expected) => {
    expect(periodStart(period, day)).toBe(expected);
  });
});

describe('the names in the ledger', () => {
  it('are those that rows and keys are stored with', () => {
    expect(LIMIT_PERIODS).toEqual(['EPOCH', 'MONTH', 'LIFETIME']);
    expect(CHARGE_STATES).toEqual(['held', 'settled', 'released', 'expired']);
  });
});
