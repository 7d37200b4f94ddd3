/** GET /x402/balance and /x402/transactions: the books of the signed-in wallet, and of no other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balanceBody, transactionsBody } from '../../../api/x402/schema.ts';
import { toWallet } from '../../../domain/wallets.ts';
import { charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { creditTopUp, paymentIdOf, recordTopUp } from '../../../infra/postgres/topUps.ts';
import { newEvmWallet, newSolanaWallet, type SigningWallet, signInOf, takingSignIns } from '../../harness/signIns.ts';
import { NETWORK, scriptedNetwork, somePayment } from '../../payments/scriptedNetwork.ts';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi({ config: takingSignIns });
  const { payments } = api.opened.dependencies.accounts;
  (payments as Map<string, unknown>).set(NETWORK, scriptedNetwork());
});
afterAll(() => api.stop());

const solana = newSolanaWallet();
const evm = newEvmWallet();
const SOLANA = solana.address;
/** Checksum spelling. */
const SHOWN = evm.address;

async function ask(path: string, wallet?: SigningWallet): Promise<Response> {
  const headers: Record<string, string> = wallet ? { 'SIGN-IN-WITH-X': await signInOf(wallet) } : {};
  return await api.call(`/x402${path}`, { headers });
}

async function topUpOf(address: string, units: string): Promise<{ paymentId: string; accountId: string }> {
  const payer = toWallet(address);
  if (!payer) throw new Error('no wallet');
  const { sql } = api.opened.dependencies.core;
  const payment = somePayment({ payer, amount: units });
  const paymentId = paymentIdOf(payment);
  await recordTopUp(sql, { payment, decimals: 6, requestId: 'r' });
  const { accountId } = await creditTopUp(sql, { paymentId, units, transaction: '0x1' });
  return { paymentId, accountId };
}

function sale(accountId: string, operationId: string, usd: bigint, requestId: string) {
  return charge(api.opened.dependencies.core.sql, {
    ...{ operationId, accountId, keyId: null, price: { usd, diem: 0n } },
    snapshot: {
      ...{ sku: 'chat', modelId: 'a-model', provider: 'p', units: '1', unit: 'token' },
      ...{ pricePerUnitUsd: '1', requestId },
    },
  });
}

describe('the balance of a wallet', () => {
  it('is zero before its first top-up, and cannot be spent', async () => {
    const response = await ask(`/balance/${SOLANA}`, solana);
    expect(response.status).toBe(200);
    expect(balanceBody.parse(await response.json()).data).toEqual({
      ...{ walletAddress: SOLANA, balanceUsd: 0, canConsume: false, minimumTopUpUsd: 5 },
      suggestedTopUpUsd: 10,
    });
  });

  it('is shown for any spelling of its address, with the checksum spelling', async () => {
    await topUpOf(SHOWN, '5000001');
    for (const spelling of [SHOWN, SHOWN.toLowerCase(), `0x${SHOWN.slice(2).toUpperCase()}`]) {
      const response = await ask(`/balance/${spelling}`, evm);
      const { data } = balanceBody.parse(await response.json());
      expect(data).toMatchObject({ walletAddress: SHOWN, balanceUsd: 5.000001, canConsume: true });
    }
  });
});

describe('a request about a wallet', () => {
  it.each(['balance', 'transactions'])(
    '%s: is refused for another wallet, for an invalid address, and unsigned',
    async (what) => {
      const statusOf = async (path: string, wallet?: SigningWallet) => (await ask(path, wallet)).status;
      expect(await statusOf(`/${what}/${SOLANA}`, evm)).toBe(403);
      expect(await statusOf(`/${what}/0x12`, evm)).toBe(400);
      const unsigned = await ask(`/${what}/${SHOWN}`);
      expect(unsigned.status).toBe(402);
      expect(await unsigned.json()).toMatchObject({ x402Version: 2, accepts: [] });
      const { secret } = await api.newKey('ADMIN');
      expect((await api.call(`/x402/${what}/${SHOWN}`, { key: secret })).status).toBe(401);
    },
  );
});

describe('the transactions of a wallet', () => {
  const wallet = newEvmWallet();
  const WALLET = wallet.address;

  it('are newest first, each with the exact balance after it, and with one refund per request', async () => {
    const { sql } = api.opened.dependencies.core;
    const { accountId } = await topUpOf(WALLET, '5000000');
    await grant(sql, {
      operationId: `g-${WALLET}`,
      accountId,
      currency: 'bundled',
      amount: 1_000_000_000n,
      notes: 'gift',
    });
    await sale(accountId, 'one', 1_250_000_000n, 'request-1');
    await sale(accountId, 'two', 700n, 'request-1');
    await refund(sql, { operationId: 'back-one', chargeOperationId: 'one', reason: 'failed' });
    await refund(sql, { operationId: 'back-two', chargeOperationId: 'two', reason: 'failed' });
    const response = await ask(`/transactions/${WALLET}`, wallet);
    const { data } = transactionsBody.parse(await response.json());
    const told = data.transactions.map(({ type, amount, balanceAfter, requestId, modelId }) => [
      ...[type, amount, balanceAfter, requestId, modelId],
    ]);
    expect(told[0]).toEqual(['REFUND', 1.2500007, 6, 'request-1', 'a-model']);
    expect(told.at(-1)).toEqual(['TOP_UP', 5, 5, null, null]);
    expect(told.at(-2)).toEqual(['TOP_UP', 1, 6, null, null]);
    const charges = told.filter(([type]) => type === 'CHARGE');
    // The first charge used two currencies.
    expect(charges.map(([, amount]) => amount)).toEqual([-0.0000007, -0.25, -1]);
    expect(charges[0]?.[2]).toBe(4.7499993);
    expect(data.currentBalance).toBe(6);
    expect(data.pagination).toEqual({ limit: 50, offset: 0, hasMore: false });
  });

  it('come in pages', async () => {
    const all = await ask(`/transactions/${WALLET}?limit=100`, wallet);
    const { transactions } = transactionsBody.parse(await all.json()).data;
    const walked = [];
    for (let offset = 0; ; offset += 2) {
      const page = await ask(`/transactions/${WALLET}?limit=2&offset=${offset}`, wallet);
      const { data } = transactionsBody.parse(await page.json());
      walked.push(...data.transactions);
      expect(data.pagination).toMatchObject({ limit: 2, offset });
      if (!data.pagination.hasMore) break;
    }
    expect(walked).toEqual(transactions);
  });

  it.each(['limit=0', 'limit=101', 'limit=1e1', 'offset=-1', 'offset=x', 'page=2'])('refuse %s', async (query) => {
    expect((await ask(`/transactions/${WALLET}?${query}`, wallet)).status).toBe(400);
  });
});
