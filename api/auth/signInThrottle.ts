/**
 * Limits what one address may cost by sign-ins that nothing is paid for. Wallets are made for free, so limits on wallets and
 * accounts bind nobody here. Refused sign-ins, and those of wallets without funds, count for their address, and so do
 * questions to a chain whether a contract signed.
 */
import { LRUCache } from 'lru-cache';
import { FareboxError } from '../../domain/errors.ts';
import type { Wallet } from '../../domain/wallets.ts';
import { callerNetwork } from '../../infra/http/callerNetwork.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import { limitAddress } from '../http/limitRoute.ts';
import type { LimitSettings } from '../limits/callLimits.ts';

export interface SignInThrottle {
  /**
   * Throws FareboxError `rate_limited` while the address has sent too many failed sign-ins. Exempt is a wallet (not
   * proven yet) that could pay lately, so that many clients behind one address do not suffer from each other.
   */
  requireOpen(address: string, wallet: Wallet, network: string): void;
  /** The same for a key that this process has not seen; a known key is exempt. */
  requireOpenForUnknownKey(address: string): void;
  /** The account can pay for something. */
  notePaying(accountId: string): void;
  /** Counts a failed sign-in. Throws FareboxError `rate_limited` for one too many. */
  countFailure(address: string): Promise<void>;
  /**
   * Wraps a query to a chain that resolves to whether the wallet signed; only a signed one does not count. Throws
   * FareboxError `rate_limited` in place of it when too many queries of the address are running, or too many failed:
   * wallets that could pay lately are counted separately, all others together.
   */
  askChain(address: string, wallet: Wallet, ask: () => Promise<boolean>): Promise<boolean>;
}

/** A failed sign-in counts a hundredth of a request on routes that count each request. */
const VAIN_SHARE = 100;
/** A sign-in for which a node was queried costs more. The share leaves room for many clients behind one address. */
const ASKED_SHARE = 10;
/**
 * Queries of a process at the same time (smartWallets.ts). An address may have half of those that others leave, so the
 * next address always finds a place.
 */
const MAX_ASKED_AT_ONCE = 16;
const MAX_ADDRESSES = 10_000;
const MAX_PAYING = 50_000;
const PAYING_MS = 3_600_000;

const VAIN = {
  path: 'sign-ins in vain',
  what: ' with credentials that are refused or of wallets without funds',
};
const ASKED = { path: 'sign-ins of contracts', what: ' with sign-ins that only a chain can judge' };

export function createSignInThrottle(limits: LimitSettings, perAddressPerMinute: number): SignInThrottle {
  /** Time (performance.now) until which each address is blocked; processes learn it from the shared count. */
  const shut = new LRUCache<string, number>({ max: MAX_ADDRESSES });
  const paying = new LRUCache<string, true>({ max: MAX_PAYING, ttl: PAYING_MS });
  const asking = new Map<string, number>();

  function shutForMs(address: string): number {
    if (shut.size === 0) return 0;
    const network = callerNetwork(address);
    const leftMs = (shut.get(network) ?? 0) - performance.now();
    if (leftMs <= 0) shut.delete(network);
    return leftMs;
  }

  return {
    requireOpen(address, wallet, network) {
      const leftMs = shutForMs(address);
      if (leftMs > 0 && !isIn(paying, { ...wallet, chain: network })) throw tooMany(VAIN.what, leftMs);
    },
    requireOpenForUnknownKey(address) {
      const leftMs = shutForMs(address);
      if (leftMs > 0) throw tooMany(VAIN.what, leftMs);
    },
    notePaying: (accountId) => void paying.set(accountId, true),
    async countFailure(address) {
      const leftMs = shutForMs(address);
      if (leftMs > 0) throw tooMany(VAIN.what, leftMs);
      try {
        await limitAddress(limits, address, { ...VAIN, perMinute: perAddressPerMinute * VAIN_SHARE });
      } catch (error) {
        if (error instanceof FareboxError && error.code === 'rate_limited') {
          shut.set(callerNetwork(address), performance.now() + (error.retryAfterSeconds ?? 1) * 1_000);
        }
        throw error;
      }
    },
    async askChain(address, wallet, ask) {
      const network = callerNetwork(address);
      const underWay = asking.get(network) ?? 0;
      if (underWay >= shareOf(network, asking)) throw tooMany(ASKED.what, 1_000);
      asking.set(network, underWay + 1);
      try {
        const accountId = walletAccountId(wallet);
        const path = isIn(paying, wallet) ? `${ASKED.path} ${accountId}` : ASKED.path;
        const limit = { what: ASKED.what, path, perMinute: perAddressPerMinute * ASKED_SHARE };
        const uncount = await limitAddress(limits, address, limit);
        const signed = await ask();
        if (signed) await uncount();
        return signed;
      } finally {
        const left = (asking.get(network) ?? 1) - 1;
        if (left === 0) asking.delete(network);
        else asking.set(network, left);
      }
    },
  };
}

/** Also looks under the name without the chain: keys, and contracts whose account is older than chain names. */
function isIn(paying: LRUCache<string, true>, wallet: Wallet): boolean {
  const { family, address } = wallet;
  return paying.has(walletAccountId(wallet)) || paying.has(walletAccountId({ family, address }));
}

/** Queries that an address may run at the same time, given those of the others. */
function shareOf(network: string, asking: ReadonlyMap<string, number>): number {
  let others = -(asking.get(network) ?? 0);
  for (const count of asking.values()) others += count;
  return Math.max(1, Math.floor((MAX_ASKED_AT_ONCE - others) / 2));
}

function tooMany(what: string, leftMs: number): FareboxError {
  return new FareboxError({
    code: 'rate_limited',
    message: `Rate limit exceeded: too many requests${what} from one address.`,
    retryAfterSeconds: Math.ceil(leftMs / 1_000),
  });
}
