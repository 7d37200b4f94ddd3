/** Terms and rules of the ledger: holds, charges, refunds, and how a price splits over currencies. */
import type { Currency, Nano } from './money.ts';

/** Price: in `usd` when paid with usd or bundled credit, in `diem` when paid with diem. */
export interface LedgerPrice {
  usd: Nano;
  diem: Nano;
}

/** Part of an amount that was taken from, or given to, one currency. */
export interface Part {
  currency: Currency;
  amount: Nano;
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Product and price, frozen at admission: a later price change has no effect. */
export interface PriceSnapshot {
  sku: string;
  modelId: string;
  provider: string;
  /** Decimal string. */
  units: string;
  unit: string;
  /** Nano units as a decimal string. */
  pricePerUnitUsd: string;
  requestId: string;
  notes?: string;
  [key: string]: Json | undefined;
}

/** A key's limits start again each UTC day, on the 1st of each UTC month, or never. */
export const LIMIT_PERIODS = ['EPOCH', 'MONTH', 'LIFETIME'] as const;
export type LimitPeriod = (typeof LIMIT_PERIODS)[number];

/** A charge is `held` until its one resolution; a charge without a hold starts as `settled`. */
export const CHARGE_STATES = ['held', 'settled', 'released', 'expired'] as const;
export type ChargeState = (typeof CHARGE_STATES)[number];

/** Free funds of an account, and the rest of a key's limits; `undefined` is no limit. */
export interface Means {
  diem: Nano;
  bundled: Nano;
  usd: Nano;
  keyUsd: Nano | undefined;
  keyDiem: Nano | undefined;
}

export type Split =
  | { outcome: 'covered'; diem: Nano; bundled: Nano; usd: Nano }
  | { outcome: 'insufficient' }
  | { outcome: 'key_limit'; currency: 'usd' | 'diem' };

/**
 * Takes a price from diem, then bundled credit, then usd. A key's usd limit counts usd and bundled credit. If the whole
 * is not covered, `key_limit` names the limit without which it would have been. The database has the same rule
 * (`ledger_split`); a test compares them.
 */
export function splitPrice(price: LedgerPrice, means: Means): Split {
  const keyUsd = means.keyUsd === undefined ? undefined : larger(means.keyUsd, 0n);
  const diem = larger(least(price.diem, means.diem, means.keyDiem), 0n);
  const rest = restInUsd(price, diem);
  const funds = means.bundled + means.usd;
  const within = (amount: Nano | undefined, limit: Nano | undefined) =>
    amount !== undefined && amount <= funds && (limit === undefined || amount <= limit);
  if (rest !== undefined && within(rest, keyUsd)) {
    const bundled = least(means.bundled, rest);
    return { outcome: 'covered', diem, bundled, usd: rest - bundled };
  }
  if (within(rest, undefined)) return { outcome: 'key_limit', currency: 'usd' };
  const unlimited = restInUsd(price, least(price.diem, means.diem));
  if (within(unlimited, keyUsd)) return { outcome: 'key_limit', currency: 'diem' };
  return within(unlimited, undefined) ? { outcome: 'key_limit', currency: 'usd' } : { outcome: 'insufficient' };
}

/**
 * USD price of the part that `paid` diem leaves: the same proportion, rounded up once. A price without diem is not sold
 * for diem. One without usd is not sold for usd: `undefined` unless diem paid it all.
 */
export function restInUsd(price: LedgerPrice, paid: Nano): Nano | undefined {
  if (price.diem === 0n) return price.usd;
  if (paid >= price.diem) return 0n;
  if (price.usd === 0n) return undefined;
  return (price.usd * (price.diem - paid) + price.diem - 1n) / price.diem;
}

/**
 * Part of a price that `parts` do not pay: in usd, and in diem where diem could pay it. The database has the same rule
 * for the rest of a bill (`ledger_unpaid`).
 */
export function unpaidPart(price: LedgerPrice, parts: readonly Part[]): LedgerPrice {
  const paid = { usd: 0n, diem: 0n };
  for (const { currency, amount } of parts) paid[currency === 'diem' ? 'diem' : 'usd'] += amount;
  const openDiem = larger(price.diem - paid.diem, 0n);
  if (price.usd === 0n) return { usd: 0n, diem: openDiem };
  const usd = larger((restInUsd(price, paid.diem) ?? 0n) - paid.usd, 0n);
  return { usd, diem: least((price.diem * usd + price.usd - 1n) / price.usd, openDiem) };
}

/** First UTC day ("2026-11-01") that counts towards a limit of this period on `day`; undefined: every day counts. */
export function periodStart(period: LimitPeriod, day: string): string | undefined {
  if (period === 'LIFETIME') return undefined;
  return period === 'EPOCH' ? day : `${day.slice(0, 8)}01`;
}

/** An account with less than a tenth of a USD in all currencies counts as empty. */
const MIN_TO_CONSUME = 100_000_000n;

/** Whether an account can pay for anything; limits of its keys are checked elsewhere (ACCOUNT-9). */
export function canConsume({ diem, bundled, usd }: { diem: Nano; bundled: Nano; usd: Nano }): boolean {
  return diem + bundled + usd >= MIN_TO_CONSUME;
}

function least(first: Nano, ...others: (Nano | undefined)[]): Nano {
  return others.reduce<Nano>((low, other) => (other !== undefined && other < low ? other : low), first);
}

function larger(first: Nano, second: Nano): Nano {
  return first > second ? first : second;
}
