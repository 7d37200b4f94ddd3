import { getBase58Encoder } from '@solana/kit';
import { expect, test } from 'vitest';
import { PaymentRefused } from '../../../../providers/payments/paymentNetwork.ts';
import { createSolanaPayments } from '../../../../providers/payments/solana/createSolanaPayments.ts';
import { readFeeKey } from '../../../../providers/payments/solana/feeKey.ts';
import { envelope, memo, openWorld, SIX_DOLLARS, transferOf, unitLimit, unitPrice, type World } from './solanaWorld.ts';

const NOW_MS = Date.now();
const signal = new AbortController().signal;

async function signedPayment(world: World) {
  return await world.payments.read(await envelope(world), Date.now());
}

test('verifies a payment, settles it with our own fee payer, executes it once and finds its amount', async () => {
  const world = await openWorld();
  const { chain, payments, payer, feeKey, payTo, usd } = world;
  const offered = await payments.offer('5000000');
  expect(offered).toEqual({
    scheme: 'exact',
    network: chain.network,
    amount: '5000000',
    asset: usd.mint,
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2', feePayer: feeKey.address },
  });
  const payment = await signedPayment(world);
  expect(payment).toMatchObject({ amount: '6000000', payer: { family: 'solana', address: payer.address } });
  expect(JSON.parse(JSON.stringify(payment))).toEqual(payment);
  expect(await payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
  await payments.verify(payment, signal);
  const settled = await payments.settle(payment, signal);
  expect(settled).toMatchObject({ outcome: 'sent' });
  const transaction = 'transaction' in settled ? settled.transaction : undefined;
  expect(await payments.find(payment, signal)).toEqual({ state: 'pending', transaction });
  chain.advance(32);
  expect(await payments.find(payment, signal)).toEqual({ state: 'final', transaction, amount: '6000000' });
  expect(await usd.balanceOf(payTo)).toBe(SIX_DOLLARS + 1n);

  expect(await payments.settle(payment, signal)).toEqual({ outcome: 'sent', transaction });
  chain.advance(400);
  expect(await payments.settle(payment, signal)).toEqual({ outcome: 'sent', transaction });
  expect(await usd.balanceOf(payTo)).toBe(SIX_DOLLARS + 1n);
  await expect(payments.verify(payment, signal)).rejects.toThrow(PaymentRefused);
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'final' });
});

test('a payment on its way is found after payTo and the token were changed in the configuration', async () => {
  const world = await openWorld();
  const payment = await signedPayment(world);
  await world.payments.settle(payment, signal);
  world.chain.advance(32);
  const other = await openWorld();
  const changed = createSolanaPayments(
    { ...world.settings, payTo: other.payTo },
    { secret: () => world.feeKey.secret, callTimeoutMs: 3_000 },
  );
  expect(await changed.find(payment, signal)).toMatchObject({ state: 'final', amount: '6000000' });
  await changed.close?.();
});

test('settles with the first signature of the message, whatever else the client added', async () => {
  const world = await openWorld();
  const one = await envelope(world);
  const bytes = Buffer.from(String(one.payload.transaction), 'base64');
  bytes.fill(7, 1, 65);
  const filled = { ...one, payload: { transaction: bytes.toString('base64') } };
  const bare = { ...one, payload: { transaction: String(one.payload.transaction).replace(/=+$/, '') } };
  const [a, b, c] = await Promise.all([one, filled, bare].map((each) => world.payments.read(each, NOW_MS)));
  expect(b).toEqual(a);
  expect(c).toEqual(a);
});

test('moves the money once when the same message is submitted many times at once', async () => {
  const world = await openWorld();
  const payment = await signedPayment(world);
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => world.payments.settle(payment, signal)));
  expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['sent']));
  expect(await world.usd.balanceOf(world.payTo)).toBe(SIX_DOLLARS + 1n);
});

test('reports a lost payment as gone only when its blockhash has expired', async () => {
  const world = await openWorld();
  const { chain, payments } = world;
  const payment = await signedPayment(world);
  chain.onSubmit = 'drop';
  expect(await payments.settle(payment, signal)).toMatchObject({ outcome: 'sent' });
  chain.advance(140);
  expect(await payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
  // Too old for the tip, but a final block might still include it, whatever the clocks say.
  chain.advance(30);
  const readLongAgo = { ...payment, readAt: String(Number(payment.readAt) - 3_600) };
  expect(await payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
  expect(await payments.find(readLongAgo, signal)).toEqual({ state: 'absent', gone: false });
  chain.advance(30);
  expect(await payments.find(payment, signal)).toEqual({ state: 'absent', gone: true });
  expect(await payments.settle(payment, signal)).toMatchObject({ outcome: 'refused' });
});

test('does not treat a blockhash as expired before a final block knows it', async () => {
  const world = await openWorld();
  const payment = await signedPayment(world);
  const { blockhash } = world.chain.latestBlockhash('confirmed');
  expect(world.chain.isBlockhashValid(blockhash, 'finalized')).toBe(false);
  expect(await world.payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
  const bySlowClock = { ...payment, readAt: '1600000000' };
  expect(await world.payments.find(bySlowClock, signal)).toEqual({ state: 'absent', gone: false });
});

test('treats an unknown blockhash as expired only when the chain is a minute past our reading', async () => {
  const world = await openWorld();
  const given = await envelope(world, { draft: (draft) => ({ ...draft, blockhash: world.payTo }) });
  const payment = await world.payments.read(given, Date.now());
  world.chain.advance(32);
  expect(await world.payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
  world.chain.advance(200);
  expect(await world.payments.find(payment, signal)).toEqual({ state: 'absent', gone: true });
});

test('finds a payment that arrives late', async () => {
  const world = await openWorld();
  const { chain, payments } = world;
  const payment = await signedPayment(world);
  chain.onSubmit = 'hold';
  await payments.settle(payment, signal);
  chain.advance(100);
  expect(await payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
  chain.release();
  chain.advance(300);
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'final', amount: '6000000' });
});

test('reports a transaction that fails in its block, and never credits it', async () => {
  const world = await openWorld();
  const { chain, payments, usd, payer, payTo } = world;
  const payment = await signedPayment(world);
  chain.onSubmit = 'hold';
  await payments.settle(payment, signal);
  chain.onSubmit = 'execute';
  // Meanwhile the payer empties the account with another payment.
  for (const amount of [SIX_DOLLARS, 91_000_000n]) {
    const other = await envelope(world, {
      draft: (draft) => ({
        ...draft,
        instructions: [...draft.instructions.slice(0, 2), transferOf(world, { amount }), memo(`drain ${amount}`)],
      }),
    });
    await payments.settle(await payments.read(other, Date.now()), signal);
  }
  expect(await usd.balanceOf(payer.address)).toBe(3_000_000n);
  chain.release();
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'pending' });
  chain.advance(32);
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'wrong' });
  expect(await usd.balanceOf(payTo)).toBe(97_000_001n);
});

test('states why a verification fails: expired, too little, no account to pay into, a fee payer without money', async () => {
  const world = await openWorld();
  const { chain, payments } = world;
  const reasonOf = (payment: Awaited<ReturnType<typeof signedPayment>>) =>
    payments.verify(payment, signal).then(
      () => 'good',
      (error: PaymentRefused) => `${error.code} ${error.details?.reason}`,
    );
  const draftWith = async (amount: bigint) => {
    const bent = await envelope(world, {
      draft: (draft) => ({
        ...draft,
        instructions: [...draft.instructions.slice(0, 2), transferOf(world, { amount })],
      }),
    });
    return await payments.read(bent, Date.now());
  };
  expect(await reasonOf(await draftWith(100_000_000n))).toBe('good');
  expect(await reasonOf(await draftWith(100_000_001n))).toBe('PAYMENT_VERIFICATION_FAILED poor');
  const old = await signedPayment(world);
  chain.advance(160);
  expect(await reasonOf(old)).toBe('PAYMENT_VERIFICATION_FAILED expired');
  const unborn = await envelope(world, { draft: (draft) => ({ ...draft, blockhash: world.payTo }) });
  expect(await reasonOf(await payments.read(unborn, Date.now()))).toBe('PAYMENT_VERIFICATION_FAILED expired');
  const used = await signedPayment(world);
  await payments.settle(used, signal);
  expect(await reasonOf(used)).toBe('PAYMENT_VERIFICATION_FAILED used');

  const poor = await openWorld();
  const account = poor.chain.svm.getAccount(poor.feeKey.address);
  if (account.exists) poor.chain.svm.setAccount({ ...account, lamports: 1_000n as typeof account.lamports });
  await expect(poor.payments.verify(await signedPayment(poor), signal)).rejects.toThrow('fee payer');
});

test('a payment with the highest price costs our fee payer at most a ten-thousandth of a SOL, and as much as was approved', async () => {
  const world = await openWorld();
  const dear = await envelope(world, {
    draft: (draft) => ({
      ...draft,
      instructions: [unitLimit(200_000), unitPrice(500_000n), ...draft.instructions.slice(2)],
    }),
  });
  const payment = await world.payments.read(dear, Date.now());
  const before = world.chain.svm.getBalance(world.feeKey.address) ?? 0n;
  const approved: bigint[] = [];
  const approve = (answer: boolean) => async (fee: bigint) => {
    approved.push(fee);
    return answer;
  };
  const refused = await world.payments.settle(payment, signal, { approveFee: approve(false) });
  expect(refused).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('budget') });
  expect(world.chain.submissions).toBe(0);
  await world.payments.settle(payment, signal, { approveFee: approve(true) });
  const cost = before - (world.chain.svm.getBalance(world.feeKey.address) ?? 0n);
  expect(cost).toBe(100_000n + 10_000n);
  expect(approved).toEqual([cost, cost]);
});

test("refuses to start with an invalid key, with mismatched halves, or with the recipient's key", async () => {
  const world = await openWorld();
  const bytes = [...getBase58Encoder().encode(world.feeKey.secret)];
  expect(readFeeKey(JSON.stringify(bytes))?.address).toBe(world.feeKey.address);
  const mixed = JSON.stringify([...bytes.slice(0, 63), (bytes[63] ?? 0) ^ 1]);
  for (const secret of ['', '[]', 'abc', '0'.repeat(88), mixed, JSON.stringify(bytes.slice(1)), '[1,2,"3"]']) {
    expect(() => createSolanaPayments(world.settings, { secret: () => secret })).toThrow('no private key');
  }
  const own = { ...world.settings, payTo: world.feeKey.address };
  expect(() => createSolanaPayments(own, { secret: () => world.feeKey.secret })).toThrow('key of payTo');
});
