/** A wallet as a caller: an ordinary account without a key, whose id follows from the address. */
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../domain/caller.ts';
import { type Wallet, walletName } from '../../domain/wallets.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';

export type WalletCaller = Caller & { wallet: Wallet };

const MAX_WALLETS = 10_000;

/** One Caller for each wallet, so that values computed from it are kept. */
export function createWalletCallers(): (wallet: Wallet) => WalletCaller {
  const known = new LRUCache<string, WalletCaller>({ max: MAX_WALLETS });
  return (wallet) => {
    const name = `${wallet.family} ${walletName(wallet)}`;
    const before = known.get(name);
    if (before) return before;
    const caller: WalletCaller = {
      accountId: walletAccountId(wallet),
      keyId: null,
      keyType: 'INFERENCE',
      modelPrivacy: 'ALL',
      models: null,
      keyExpiresAt: null,
      wallet,
    };
    known.set(name, caller);
    return caller;
  };
}
