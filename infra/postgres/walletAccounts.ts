/** Accounts of wallets: one per owner, with an id derived from the address. */
import { createHash } from 'node:crypto';
import { type Wallet, type WalletFamily, walletName, walletNamed } from '../../domain/wallets.ts';
import type { SqlClient } from './pool.ts';

/** A UUID of version 8 made from family and name: the same in every process, before any row exists. */
export function walletAccountId(wallet: Wallet): string {
  const named = `farebox wallet ${wallet.family} ${walletName(wallet)}`;
  const digest = createHash('sha256').update(named).digest().subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Opens the account of a wallet if needed; returns its id. In the caller's transaction. */
export async function openWalletAccount(sql: SqlClient, wallet: Wallet): Promise<string> {
  const accountId = walletAccountId(wallet);
  await sql.query('insert into accounts (id, name) values ($1, $2) on conflict (id) do nothing', [
    accountId,
    `wallet ${walletName(wallet)}`,
  ]);
  await sql.query(
    `insert into wallet_accounts (account_id, family, address) values ($1, $2, $3)
     on conflict (account_id) do nothing`,
    [accountId, wallet.family, walletName(wallet)],
  );
  return accountId;
}

/** Undefined: not an account of a wallet. */
export async function walletOf(sql: SqlClient, accountId: string): Promise<Wallet | undefined> {
  const { rows } = await sql.query<{ family: WalletFamily; address: string }>(
    'select family, address from wallet_accounts where account_id = $1',
    [accountId],
  );
  return rows[0] && walletNamed(rows[0].family, rows[0].address);
}

/** Owner of a wallet: a contract may have an account from before contracts were distinguished by chain. */
export async function ownerOf(sql: SqlClient, wallet: Wallet): Promise<Wallet> {
  if (wallet.chain === undefined) return wallet;
  const { family, address, chain } = wallet;
  const { rowCount } = await sql.query(
    'select from wallet_accounts where family = $1 and address = $2 and contract_network = $3',
    [family, address, chain],
  );
  return rowCount === 0 ? wallet : { family, address };
}
