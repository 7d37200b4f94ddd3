/** An API with wallet sign-in and one payment network, and wallets with funds. */
import { randomUUID } from 'node:crypto';
import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { BASE_MAINNET, toWallet } from '../../../domain/wallets.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { inTransaction } from '../../../infra/postgres/pool.ts';
import { openWalletAccount, walletAccountId } from '../../../infra/postgres/walletAccounts.ts';
import type { PaymentNetwork } from '../../../providers/payments/paymentNetwork.ts';
import type { TestApi } from '../startApi.ts';
import { startTextWorld, type TextWorld } from '../text/textWorld.ts';

export const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
export const RECEIVER = '0x000000000000000000000000000000000000fa5e';

export interface TestWallet {
  account: PrivateKeyAccount;
  accountId: string;
  /** Returns a new sign-in. `address` overrides the spelling. */
  header(address?: string): Promise<string>;
}

export interface WalletWorld extends TextWorld {
  /** Creates a wallet with nano USD. Without an amount its account has no row. */
  wallet(nanoUsd?: bigint): Promise<TestWallet>;
  balance(wallet: Pick<TestWallet, 'accountId'>): Promise<bigint>;
  chatAs(wallet: TestWallet, body?: object, headers?: Record<string, string>): Promise<Response>;
}

export async function startWalletWorld(more: (config: Config) => Config = (config) => config): Promise<WalletWorld> {
  const world = await startTextWorld(more);
  const { sql } = world.api.opened.dependencies.core;
  welcomeWallets(world.api);
  return {
    ...world,
    wallet: (nanoUsd) => newWallet(world.api, nanoUsd),
    async balance({ accountId }) {
      const { rows } = await sql.query<{ free: string }>(
        'select usd_posted - usd_held as free from accounts where id = $1',
        [accountId],
      );
      return BigInt(rows[0]?.free ?? 0);
    },
    async chatAs(wallet, body = {}, headers = {}) {
      const signed = { 'sign-in-with-x': await wallet.header(), ...headers };
      return await world.chat(body, { headers: signed, key: '' });
    },
  };
}

/** Enables sign-in and one payment network. */
export function welcomeWallets({ opened, origin }: TestApi): void {
  const {
    core: { config },
    accounts: { payments },
  } = opened.dependencies;
  // The x402 libraries sign only for the address that answers.
  config.publicUrl = origin;
  (payments as Map<string, PaymentNetwork>).set(BASE_MAINNET, baseOffer());
}

/** With `chain`, the funds belong to a contract at its address there. */
export async function newWallet({ opened, origin }: TestApi, nanoUsd = 0n, chain?: string): Promise<TestWallet> {
  const { sql } = opened.dependencies.core;
  const account = privateKeyToAccount(generatePrivateKey());
  const ofKey = toWallet(account.address);
  if (!ofKey) throw new Error('no wallet');
  const wallet = chain === undefined ? ofKey : { ...ofKey, chain };
  const accountId = walletAccountId(wallet);
  if (nanoUsd > 0n) {
    await inTransaction(sql, (client) => openWalletAccount(client, wallet));
    const credit = { operationId: randomUUID(), accountId, amount: nanoUsd, notes: 'test' };
    await grant(sql, { ...credit, currency: 'usd' });
  }
  return { account, accountId, header: (address) => signedBy(account, origin, address) };
}

async function signedBy(
  account: PrivateKeyAccount,
  origin: string,
  address: string = account.address,
): Promise<string> {
  const info = {
    ...{ domain: new URL(origin).host, uri: origin, version: '1', statement: 'Sign in' },
    ...{ nonce: randomUUID().replaceAll('-', ''), issuedAt: new Date().toISOString() },
    ...{ chainId: BASE_MAINNET, type: 'eip191' as const },
  };
  return encodeSIWxHeader({ ...(await createSIWxPayload(info, account, origin)), address });
}

/** A payment network with an offer, on which no payment is possible. */
function baseOffer(): PaymentNetwork {
  const nobody = () => Promise.reject(new Error('nobody pays here'));
  return {
    ...{ network: BASE_MAINNET, names: ['base'], decimals: 6, feeBudget: 0n },
    offer: async (amount) => ({
      ...{ scheme: 'exact', network: BASE_MAINNET, amount, asset: USDC, payTo: RECEIVER },
      ...{ maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
    }),
    ...{ read: nobody, verify: nobody, settle: nobody, find: nobody },
  };
}
