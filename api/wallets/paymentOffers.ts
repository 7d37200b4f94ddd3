/**
 * Payment offers (`accepts`, WALLET-7). Every answer to an unknown client has them, so each network is queried at most
 * once in some seconds.
 */
import { LRUCache } from 'lru-cache';
import { BASE_MAINNET, familyOf } from '../../domain/wallets.ts';
import type { PaymentNetwork, PaymentRequirement } from '../../providers/payments/paymentNetwork.ts';

export interface PaymentOffers {
  /**
   * One offer for each available network, Base first; `amount` in the smallest units of a token with six decimals.
   * Never throws.
   */
  of(amount: string): Promise<readonly PaymentRequirement[]>;
}

const FRESH_MS = 10_000;
/** A network that does not answer in time is left out until the next query. */
const MAX_WAIT_MS = 2_000;
const MAX_AMOUNTS = 16;

interface OffersEntry {
  at: number;
  offers: Promise<readonly PaymentRequirement[]>;
}

/** `networks` by their CAIP-2 names. */
export function createPaymentOffers(networks: ReadonlyMap<string, PaymentNetwork>): PaymentOffers {
  const asked = new LRUCache<string, OffersEntry>({ max: MAX_AMOUNTS });

  async function ask(amount: string): Promise<readonly PaymentRequirement[]> {
    const ordered = [...networks.values()].sort((one, other) => rankOf(one) - rankOf(other));
    const offers = await Promise.all(ordered.map((network) => inTime(network.offer(amount)).catch(() => undefined)));
    return offers.filter((offer) => offer !== undefined);
  }

  return {
    of(amount) {
      const now = performance.now();
      const known = asked.get(amount);
      if (known && now - known.at < FRESH_MS) return known.offers;
      const offers = ask(amount);
      // Callers during a refresh get the previous offers.
      asked.set(amount, { at: now, offers: known?.offers ?? offers });
      if (known) void offers.then(() => asked.set(amount, { at: performance.now(), offers }));
      return known?.offers ?? offers;
    },
  };
}

/** Order of the offers: Base first (WALLET-7). */
function rankOf({ network }: PaymentNetwork): number {
  if (network === BASE_MAINNET) return 0;
  return familyOf(network) === 'evm' ? 1 : 2;
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no offer in time')), MAX_WAIT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
