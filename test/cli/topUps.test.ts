/** `farebox top-ups reconcile` compares the books with real chains in both directions. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { inTransaction } from '../../infra/postgres/pool.ts';
import { creditTopUp, endTopUp, paymentIdOf, recordTopUp } from '../../infra/postgres/topUps.ts';
import { openWalletAccount, walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import { type EvmChain, startEvmChain } from '../chains/evmChain.ts';
import { createWorld } from '../harness/services.ts';
import { paidConfig, paidEnvironment } from '../payments/paidWorld.ts';
import { DOLLAR, networkOn, PAYEE, readOn, signedOn } from '../providers/payments/evm/signedPayments.ts';
import { createSolanaWorld, envelope, type World as SolanaWorld } from '../providers/payments/solana/solanaWorld.ts';
import { runFarebox } from './runFarebox.ts';

interface Answer {
  ok: boolean;
  payments: number;
  otherTransfers: number;
  differences: {
    kind: string;
    paymentId: string;
    credit?: string;
    paidUnits?: string;
    creditedUnits?: string;
  }[];
}

let pool: pg.Pool;
let environment: Record<string, string>;

beforeAll(async () => {
  ({ environment } = await createWorld());
  pool = new pg.Pool({ connectionString: environment.DATABASE_URL, max: 2 });
});
afterAll(() => pool?.end());

async function reconcile(...options: string[]): Promise<{ code: number; answer: Answer }> {
  const { code, stdout, stderr } = await runFarebox(['top-ups', 'reconcile', '--json', ...options], environment);
  if (code > 1) throw new Error(`it exited ${code}: ${stderr}`);
  return { code, answer: JSON.parse(stdout) as Answer };
}

async function booked(payment: SignedPayment, transaction: string, units = payment.amount): Promise<void> {
  const paymentId = paymentIdOf(payment);
  await recordTopUp(pool, { payment, decimals: 6, requestId: randomUUID() });
  await creditTopUp(pool, { paymentId, units, transaction });
}

async function usdOf({ payer }: SignedPayment): Promise<bigint> {
  return (await balanceOf(pool, walletAccountId(payer)))?.usd ?? 0n;
}

describe('books compared with an EVM chain', () => {
  let chain: EvmChain;
  beforeAll(async () => {
    chain = await startEvmChain();
    Object.assign(environment, paidEnvironment(paidConfig(chain)));
    await chain.mine(30);
  });
  afterAll(() => chain?.stop());

  async function paid(): Promise<{ payment: SignedPayment; transaction: string }> {
    const signed = await signedOn(chain);
    const network = networkOn(chain);
    const payment = await readOn(network, signed);
    await network.close?.();
    const { transactionHash } = await chain.settle(signed.authorization, signed.signature);
    return { payment, transaction: transactionHash };
  }

  test('agree when they match, whatever else was sent to the payee', async () => {
    const { payment, transaction } = await paid();
    await booked(payment, transaction);
    await chain.mint(PAYEE, 3n * DOLLAR);
    const { code, answer } = await reconcile();
    expect(answer).toMatchObject({ ok: true, payments: 1, otherTransfers: 1, differences: [] });
    expect(code).toBe(0);
    const { stdout } = await runFarebox(['top-ups', 'reconcile'], environment);
    expect(stdout).toContain('the books and the chains agree');
  });

  test('payments that a restored backup has lost are found, and are booked once for known wallets', async () => {
    const [known, stranger, failed] = [await paid(), await paid(), await paid()];
    await inTransaction(pool, (client) => openWalletAccount(client, known.payment.payer));
    await inTransaction(pool, (client) => openWalletAccount(client, failed.payment.payer));
    await recordTopUp(pool, { payment: failed.payment, decimals: 6, requestId: randomUUID() });
    await endTopUp(pool, {
      paymentId: paymentIdOf(failed.payment),
      state: 'failed',
      reason: 'a node lagged',
    });
    const kinds = (answer: Answer) => new Map(answer.differences.map((each) => [each.paymentId, each]));
    const first = await reconcile();
    expect(first.code).toBe(1);
    expect(kinds(first.answer).get(paymentIdOf(known.payment))).toMatchObject({ kind: 'not booked' });
    expect(kinds(first.answer).get(paymentIdOf(failed.payment))).toMatchObject({ kind: 'not credited' });
    expect(await usdOf(known.payment)).toBe(0n);
    const second = await reconcile('--credit');
    expect(second.code).toBe(1);
    expect(kinds(second.answer).get(paymentIdOf(known.payment))).toMatchObject({ credit: 'credited' });
    expect(kinds(second.answer).get(paymentIdOf(failed.payment))).toMatchObject({ credit: 'credited' });
    expect(kinds(second.answer).get(paymentIdOf(stranger.payment))).toMatchObject({
      credit: 'unknown payer',
    });
    const third = await reconcile('--credit');
    expect(third.answer.differences.map(({ paymentId }) => paymentId)).toEqual([paymentIdOf(stranger.payment)]);
    for (const { payment } of [known, failed]) expect(await usdOf(payment)).toBe(10_000_000_000n);
    expect(await usdOf(stranger.payment)).toBe(0n);
    expect(await checkLedger(pool)).toEqual([]);
    await booked(stranger.payment, stranger.transaction);
    expect((await reconcile()).code).toBe(0);
  });

  test('differ by a credit without a payment, and by one of another amount', async () => {
    const { payment, transaction } = await paid();
    await booked(payment, transaction, '7000000');
    const signed = await signedOn(chain);
    const invented = await readOn(networkOn(chain), signed);
    await booked(invented, `0x${'ab'.repeat(32)}`);
    const { code, answer } = await reconcile('--since', new Date(Date.now() - 3_600_000).toISOString());
    expect(code).toBe(1);
    expect(answer.differences).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'not on the chain', paymentId: paymentIdOf(invented) }),
        expect.objectContaining({
          ...{ kind: 'credited otherwise', paymentId: paymentIdOf(payment) },
          ...{ paidUnits: '10000000', creditedUnits: '7000000' },
        }),
      ]),
    );
    expect(answer.differences).toHaveLength(2);
    const { stdout } = await runFarebox(['top-ups', 'reconcile'], environment);
    expect(stdout).toContain('not on the chain');
  });

  test('yield no verdict when the nodes cannot be read', async () => {
    const away = paidEnvironment(paidConfig({ ...chain, rpcUrl: 'http://127.0.0.1:1' }));
    const { code, stderr } = await runFarebox(['top-ups', 'reconcile'], { ...environment, ...away });
    expect(code).toBe(2);
    expect(stderr).toContain(`the nodes of ${chain.network} could not be read`);
    const bad = await runFarebox(['top-ups', 'reconcile', '--since', '2999-01-01'], environment);
    expect(bad.code).toBe(2);
  });
});

describe('books compared with Solana', () => {
  let world: SolanaWorld;
  beforeAll(async () => {
    world = await createSolanaWorld({ nodes: 2 });
    const { network, asset, payTo, rpcUrls } = world.settings;
    const entry = { network, asset, payTo, rpcUrls, confirmations: 32, feePayerKeyEnv: 'FEE_KEY' };
    Object.assign(environment, paidEnvironment({ x402: { networks: [entry] } }));
  });
  afterAll(() => world?.close());

  test('find a missing payment and book it once', async () => {
    const payment = await world.payments.read(await envelope(world), Date.now());
    const other = await world.payments.read(await envelope(world), Date.now());
    for (const each of [payment, other]) {
      const settled = await world.payments.settle(each, AbortSignal.timeout(20_000));
      if (each === other) await booked(other, 'transaction' in settled ? (settled.transaction ?? '') : '');
    }
    world.chain.advance(64);
    const first = await reconcile('--credit');
    expect(first.code).toBe(0);
    expect(first.answer).toMatchObject({
      payments: 2,
      differences: [{ kind: 'not booked', paymentId: paymentIdOf(payment), credit: 'credited' }],
    });
    const second = await reconcile('--credit');
    expect(second.answer).toMatchObject({ ok: true, payments: 2, differences: [] });
    expect(await usdOf(payment)).toBe(12_000_000_000n);
  });
});
