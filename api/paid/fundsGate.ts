/**
 * Checks before the body is read whether a caller can pay the smallest price of a route: one check for API keys, child
 * keys and wallets. The ledger still decides about each charge.
 */
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../domain/caller.ts';
import type { Model, ModelType } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { canConsume, type LedgerPrice, splitPrice } from '../../domain/ledger.ts';
import { isOffline } from '../../domain/modelAccess.ts';
import { INSUFFICIENT, keyLimitReached } from '../../domain/refusals.ts';
import { MIN_PRICE, type SmallestPrices, smallestPricesOf, toSmallestPrices } from '../../domain/smallestPrices.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Funds, FundsReader, Payer } from '../../infra/postgres/funds.ts';

/** Time for which cached funds are trusted (benches `front` and `chat`). */
const FRESH_MS = 1_000;
/** A busy payer is refreshed in the background: its calls never wait for that. */
const MAX_AGE_MS = 2_000;
const MAX_KNOWN = 10_000;

/** Members of a route that determine its prices. */
interface SellingRoute {
  body?: { modelType?: ModelType };
  sells?(model: Model): boolean;
  fixedPrice?(config: Config): LedgerPrice;
}

export interface FundsGate {
  /**
   * Undefined at once for a payer that could pay one of the prices when it was last read; else the result of a new
   * read.
   */
  refusalOf(caller: Caller, prices: readonly LedgerPrice[]): Promise<FareboxError | undefined> | undefined;
  /** Funds, up to two seconds old for a payer that has some; for others they are read now. */
  standing(payer: Payer): Promise<Funds>;
  read(payer: Payer): Promise<Funds>;
  /** Funds of a wallet's account, as `standing`. Throws FareboxError `credential_invalid` for a suspended one. */
  requireActive(accountId: string): Promise<Funds>;
  /** The account's status changed. */
  forget(accountId: string): void;
  smallestPrices(route: SellingRoute): SmallestPrices;
}

interface FundsEntry {
  accountId: string;
  funds: Funds;
  readAt: number;
  /** Price lists of which these funds can pay at least one (bench `pairs`). */
  payable: Set<readonly LedgerPrice[]>;
}

export function createFundsGate(reader: FundsReader, config: Config): FundsGate {
  const { read, recent, forget } = createFundsCache(reader);
  const prices = new WeakMap<SellingRoute, SmallestPrices>();
  const standing = async (payer: Payer) => recent(payer)?.funds ?? (await read(payer));

  /** Holds of a process that died lock funds until they expire: their owner need not wait for that. */
  async function freshLackOf(caller: Caller, wanted: readonly LedgerPrice[]): Promise<FareboxError | undefined> {
    const funds = await read(caller);
    const lack = lackOf(funds, caller, wanted);
    if (!lack || funds.account === 'none' || !(await reader.expireDueHolds(caller.accountId))) return lack;
    return lackOf(await read(caller), caller, wanted);
  }

  return {
    ...{ read, standing, forget },
    async requireActive(accountId) {
      const funds = await standing({ accountId, keyId: null });
      if (funds.account === 'suspended') throw inactive();
      return funds;
    },
    refusalOf(caller, wanted) {
      const known = recent(caller);
      if (known?.payable.has(wanted)) return undefined;
      if (!known || lackOf(known.funds, caller, wanted)) return freshLackOf(caller, wanted);
      known.payable.add(wanted);
      return undefined;
    },
    smallestPrices(route) {
      const before = prices.get(route);
      if (before) return before;
      const found = pricesOf(config, route);
      prices.set(route, found);
      return found;
    },
  };
}

/** Caches payers with funds: a payer without any is read each time, and served as soon as it has some. */
function createFundsCache(reader: FundsReader) {
  const known = new LRUCache<string, FundsEntry>({ max: MAX_KNOWN });
  const refreshing = new Set<string>();
  let changes = 0;

  async function read(payer: Payer): Promise<Funds> {
    const changesBefore = changes;
    const funds = await reader.read(payer);
    if (!hasFunds(funds, payer)) known.delete(nameOf(payer));
    else if (changes === changesBefore) {
      const { accountId } = payer;
      known.set(nameOf(payer), { accountId, funds, readAt: performance.now(), payable: new Set() });
    }
    return funds;
  }

  /** A failed read keeps the entry until it expires; the next call after that gets the failure. */
  function refresh(payer: Payer): void {
    const name = nameOf(payer);
    if (refreshing.has(name)) return;
    refreshing.add(name);
    read(payer)
      .catch(() => undefined)
      .finally(() => refreshing.delete(name));
  }

  function recent(payer: Payer): FundsEntry | undefined {
    // `peek`: entries of busy payers are replaced each second, so the order of use need not be tracked.
    const entry = known.peek(nameOf(payer));
    if (entry === undefined) return undefined;
    const age = performance.now() - entry.readAt;
    if (age > MAX_AGE_MS) return undefined;
    if (age > FRESH_MS) refresh(payer);
    return entry;
  }

  function forget(accountId: string): void {
    changes += 1;
    for (const [name, entry] of known) if (entry.accountId === accountId) known.delete(name);
  }

  return { read, recent, forget };
}

function inactive(): FareboxError {
  const message = 'Authentication failed: this account is inactive';
  return new FareboxError({ code: 'credential_invalid', message, internal: 'inactive account of a wallet' });
}

function nameOf({ accountId, keyId }: Payer): string {
  return keyId ?? accountId;
}

/** A wallet, which has no key, needs the minimum balance (WALLET-8). */
function hasFunds(funds: Funds, { keyId }: Payer): boolean {
  if (funds.account !== 'active') return false;
  return keyId === null ? canConsume(funds) : splitPrice(MIN_PRICE, funds).outcome === 'covered';
}

/** Error for a caller that can pay none of these prices; undefined when it can. */
function lackOf(funds: Funds, payer: Payer, prices: readonly LedgerPrice[]): FareboxError | undefined {
  if (payer.keyId === null && !hasFunds(funds, payer)) return new FareboxError(INSUFFICIENT);
  const splits = prices.map((price) => splitPrice(price, funds));
  if (splits.some(({ outcome }) => outcome === 'covered')) return undefined;
  const limited = splits.find((split) => split.outcome === 'key_limit');
  return new FareboxError(limited ? keyLimitReached(limited.currency) : INSUFFICIENT);
}

function pricesOf(config: Config, { body, sells = () => true, fixedPrice }: SellingRoute): SmallestPrices {
  if (fixedPrice) return toSmallestPrices([fixedPrice(config)]);
  const sold = config.models.filter((model) => model.type === body?.modelType && sells(model));
  return smallestPricesOf(sold.filter((model) => !isOffline(model, config)));
}
