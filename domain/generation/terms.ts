/** Line of a bill for an order, with one text for quote and ledger. */
import { type Price, priceOf } from '../catalogue/model.ts';
import type { PublishedPrice } from '../catalogue/specs.ts';
import { formatNanoFixed, lineCost, NANO_PER_UNIT, type Nano } from '../money.ts';

export interface Terms {
  price: Price;
  sku: string;
  unit: string;
  /** A decimal. */
  units: string;
  pricePerUnitUsd: Nano;
}

interface Line {
  sku: string;
  unit: string;
  each: PublishedPrice;
  /** In thousandths of the unit, so that characters and halves of a second stay exact. */
  thousandths: bigint;
  /** Multiplies the price of the unit; three decimals count. */
  factor?: number;
}

/** Rounded up once, per currency. */
export function termsOf({ sku, unit, each, thousandths, factor = 1 }: Line): Terms {
  const published = priceOf(each);
  const raised = BigInt(Math.round(factor * 1_000));
  const cost = (amount: Nano) => lineCost(thousandths * raised, amount, 1_000_000n);
  return {
    price: { usd: cost(published.usd), diem: cost(published.diem) },
    sku,
    unit,
    units: decimal(thousandths),
    pricePerUnitUsd: lineCost(raised, published.usd, 1_000n),
  };
}

function decimal(thousandths: bigint): string {
  const text = formatNanoFixed((thousandths * NANO_PER_UNIT) / 1_000n, 3, 'down');
  return text.replace(/\.?0+$/, '');
}

/** Field of an order that the model does not accept as given; `fields` as in an error body (API-8). */
export interface WrongField {
  ok: false;
  field: string;
  message: string;
  /** Voices to choose from, for a wrong voice (API-9). */
  supportedVoices?: readonly string[];
}

export function wrongField(field: string, message: string): WrongField {
  return { ok: false, field, message };
}

export function unsupported(field: string): WrongField {
  return wrongField(field, `This model does not support ${field}`);
}
