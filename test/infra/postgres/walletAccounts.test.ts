/** The account of a wallet: for a contract it depends on the chain, except for older accounts. */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Wallet } from '../../../domain/wallets.ts';
import { inTransaction, openPool } from '../../../infra/postgres/pool.ts';
import { creditTopUp, paymentIdOf, readTopUp, recordTopUp } from '../../../infra/postgres/topUps.ts';
import { openWalletAccount, ownerOf, walletAccountId, walletOf } from '../../../infra/postgres/walletAccounts.ts';
import { createDatabase } from '../../harness/services.ts';
import { somePayment } from '../../payments/scriptedNetwork.ts';

const [ONE, OTHER] = ['eip155:8453', 'eip155:137'];

let pool: pg.Pool;
beforeAll(async () => {
  pool = openPool({ databaseUrl: await createDatabase(), applicationName: 'wallet-accounts-test' });
});
afterAll(() => pool?.end());

function newWallet(chain?: string): Wallet {
  const address = `0x${randomBytes(20).toString('hex')}`;
  return { family: 'evm', address, ...(chain !== undefined && { chain }) };
}

const open = (wallet: Wallet) => inTransaction(pool, (client) => openWalletAccount(client, wallet));

test('contracts at one address on two chains, and a key of that address, are three owners', async () => {
  const key = newWallet();
  const contracts = [ONE, OTHER].map((chain) => ({ ...key, chain }));
  const wallets = [key, ...contracts];
  const ids = await Promise.all(wallets.map(open));
  expect(new Set(ids).size).toBe(3);
  expect(await Promise.all(ids.map((id) => walletOf(pool, id)))).toEqual(wallets);
  for (const wallet of wallets) expect(await ownerOf(pool, wallet)).toEqual(wallet);
});

test('keeps the older account of a contract, on its chain only', async () => {
  const address = newWallet();
  const accountId = walletAccountId(address);
  await pool.query("insert into accounts (id, name) values ($1, 'from before')", [accountId]);
  await pool.query(
    'insert into wallet_accounts (account_id, family, address, contract_network) values ($1, $2, $3, $4)',
    [accountId, address.family, address.address, ONE],
  );
  expect(await ownerOf(pool, { ...address, chain: ONE })).toEqual(address);
  const elsewhere = { ...address, chain: OTHER };
  expect(await ownerOf(pool, elsewhere)).toEqual(elsewhere);
});

test("credits a contract's payment to the account of its chain", async () => {
  const payer = newWallet(ONE);
  const payment = somePayment({ payer, network: ONE });
  const paymentId = paymentIdOf(payment);
  await recordTopUp(pool, { payment, decimals: 6, requestId: '0'.repeat(32) });
  expect(await readTopUp(pool, paymentId)).toMatchObject({ payer, accountId: walletAccountId(payer) });
  const row = await creditTopUp(pool, { paymentId, units: '5000000', transaction: '0x1' });
  expect(row).toMatchObject({ state: 'credited', accountId: walletAccountId(payer) });
  expect(await walletOf(pool, row.accountId)).toEqual(payer);
  const { family, address } = payer;
  expect(row.accountId).not.toBe(walletAccountId({ family, address }));
});
