import { setTimeout as sleep } from 'node:timers/promises';
import { type Hex, parseEther } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEvmPayments } from '../../../../providers/payments/evm/createEvmPayments.ts';
import {
  ChainUnavailable,
  type PaymentLookup,
  type PaymentNetwork,
  type SignedPayment,
} from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { startRpcNode, type TestNode } from '../../../chains/rpcNode.ts';
import {
  DOLLAR,
  envelopeOf,
  FEE_KEY,
  networkOn,
  PAYEE,
  payloadOf,
  readOn,
  settingsOn,
  signedOn,
} from './signedPayments.ts';

let chain: EvmChain;
let node: TestNode;
let network: PaymentNetwork;
const FEE_PAYER = privateKeyToAccount(FEE_KEY).address;
const within = () => AbortSignal.timeout(60_000);

beforeAll(async () => {
  chain = await startEvmChain();
  node = await startRpcNode(chain.rpcUrl);
  network = networkOn(chain);
});

afterAll(async () => {
  await network.close?.();
  await node.close();
  await chain.stop();
});

async function settled(payment: SignedPayment, by = network): Promise<string> {
  const outcome = await by.settle(payment, within());
  if (outcome.outcome !== 'sent' || outcome.transaction === undefined) throw new Error(JSON.stringify(outcome));
  // A node accepts a transaction first and mines it a moment later.
  await chain.mined(outcome.transaction as Hex);
  return outcome.transaction;
}

/** Submits dropped transactions again, as the workflow of a top-up does. */
async function settledAtLast(payment: SignedPayment, by: PaymentNetwork): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const outcome = await by.settle(payment, within());
    const hint = 'transaction' in outcome ? outcome.transaction : undefined;
    const found = await untilKnown(payment, by, hint);
    if (found.state === 'final') return;
  }
  throw new Error('it was dropped each time');
}

async function untilKnown(payment: SignedPayment, by: PaymentNetwork, hint?: string): Promise<PaymentLookup> {
  for (;;) {
    // While a block is being mined, its state may be visible before its events.
    const found = await by.find(payment, within(), hint).catch((error: unknown) => {
      if (!(error instanceof ChainUnavailable)) throw error;
    });
    if (found && (found.state !== 'absent' || found.dropped)) return found;
    await sleep(20);
  }
}

describe('a valid payment', () => {
  test('is read, verified, settled and found, with and without a hint', async () => {
    const signed = await signedOn(chain);
    const before = await chain.balanceOf(PAYEE);
    const payment = await readOn(network, signed);
    await network.verify(payment, within());
    expect(await network.find(payment, within())).toEqual({ state: 'absent', gone: false });
    const transaction = await settled(payment);
    expect(await chain.balanceOf(PAYEE)).toBe(before + 10n * DOLLAR);
    const final = { state: 'final', transaction, amount: '10000000' };
    expect(await network.find(payment, within())).toEqual(final);
    expect(await network.find(payment, within(), transaction)).toEqual(final);
    expect(await network.find(payment, within(), `0x${'1'.repeat(64)}`)).toEqual(final);
    expect(await network.find(payment, within(), 'nonsense')).toEqual(final);
  });

  test('in the legacy flat shape is the same payment', async () => {
    const signed = await signedOn(chain);
    const flat = {
      x402Version: 1,
      scheme: 'exact',
      network: 'base-sepolia',
      payload: payloadOf(signed),
    } as const;
    const now = Date.now();
    const one = await network.read({ ...flat, accepted: undefined, resourceUrl: undefined }, now);
    const other = await network.read(await envelopeOf(network, signed), now);
    expect(one).toEqual(other);
  });

  test('serialises to JSON and back without a change', async () => {
    const payment = await readOn(network, await signedOn(chain));
    const copy = JSON.parse(JSON.stringify(payment)) as SignedPayment;
    expect(copy).toEqual(payment);
    await settled(copy);
    expect(await network.find(copy, within())).toMatchObject({ state: 'final' });
  });

  test('of a contract wallet moves its money, and nobody else can sign for the wallet', async () => {
    const owner = await chain.newWallet();
    const wallet = await chain.deployNamed('SmartWallet', [owner.address]);
    await chain.mint(wallet, 20n * DOLLAR);
    const { authorization } = await signedOn(chain, { from: wallet });
    const good = { payer: owner, authorization, signature: await chain.sign(owner, authorization) };
    const payment = await readOn(network, good);
    expect(payment.payer).toEqual({ family: 'evm', address: wallet.toLowerCase(), chain: chain.network });
    const stranger = await chain.newWallet();
    const forged = { ...good, signature: await chain.sign(stranger, authorization) };
    await expect(network.verify(await readOn(network, forged), within())).rejects.toMatchObject({
      code: 'PAYMENT_VERIFICATION_FAILED',
      details: { reason: 'reverted' },
    });
    await network.verify(payment, within());
    await settled(payment);
    expect(await network.find(payment, within())).toMatchObject({ state: 'final', amount: '10000000' });
  });

  test.each(['RevertingWallet', 'EndlessWallet'])('of a %s is refused within the timeout', async (name) => {
    const wallet = await chain.deployNamed(name);
    await chain.mint(wallet, 20n * DOLLAR);
    const payment = await readOn(network, await signedOn(chain, { from: wallet }));
    await expect(network.verify(payment, within())).rejects.toMatchObject({
      code: 'PAYMENT_VERIFICATION_FAILED',
    });
    expect(await network.settle(payment, within())).toMatchObject({ outcome: 'refused' });
  });
});

describe('changes between the check and the settlement', () => {
  test('missing funds prevent the submission', async () => {
    const signed = await signedOn(chain);
    const payment = await readOn(network, signed);
    await network.verify(payment, within());
    const away = await chain.authorization({
      from: signed.payer.address,
      to: chain.bank.address,
      value: 15n * DOLLAR,
    });
    await chain.settle(away, await chain.sign(signed.payer, away));
    await expect(network.verify(payment, within())).rejects.toMatchObject({ details: { reason: 'poor' } });
    expect(await network.settle(payment, within())).toMatchObject({ outcome: 'refused' });
    expect(await network.find(payment, within())).toEqual({ state: 'absent', gone: false });
  });

  test('a submission by somebody else is found, and never reported as refused', async () => {
    const signed = await signedOn(chain);
    const payment = await readOn(network, signed);
    const { transactionHash } = await chain.settle(signed.authorization, signed.signature);
    await expect(network.verify(payment, within())).rejects.toMatchObject({ details: { reason: 'used' } });
    expect(await network.settle(payment, within())).toMatchObject({ outcome: 'unknown' });
    expect(await network.find(payment, within())).toEqual({
      ...{ state: 'final', transaction: transactionHash, amount: '10000000' },
    });
  });

  test('a nonce that the payer uses elsewhere credits nothing', async () => {
    const signed = await signedOn(chain);
    const payment = await readOn(network, signed);
    const other = { ...signed.authorization, to: chain.bank.address };
    const { transactionHash } = await chain.settle(other, await chain.sign(signed.payer, other));
    expect(await network.find(payment, within())).toMatchObject({
      state: 'wrong',
      transaction: transactionHash,
    });
    expect(await network.find(payment, within(), transactionHash)).toMatchObject({ state: 'wrong' });
  });

  test('a payment that its payer cancels is gone for good', async () => {
    const signed = await signedOn(chain);
    const payment = await readOn(network, signed);
    const { nonce, from: authorizer } = signed.authorization;
    const { domain } = chain.typedData(signed.authorization);
    const signature = await signed.payer.signTypedData({
      domain,
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer, nonce },
    });
    const abi = [
      {
        type: 'function',
        name: 'cancelAuthorization',
        stateMutability: 'nonpayable',
        inputs: [{ type: 'address' }, { type: 'bytes32' }, { type: 'bytes' }],
        outputs: [],
      },
    ] as const;
    const call = { address: chain.usdc, abi, functionName: 'cancelAuthorization' };
    await chain.write({ ...call, args: [authorizer, nonce, signature] });
    expect(await network.find(payment, within())).toEqual({ state: 'absent', gone: true });
    const deeper = networkOn(chain, { confirmations: 2 });
    expect(await deeper.find(payment, within())).toEqual({ state: 'absent', gone: false });
    await chain.mine(2);
    expect(await deeper.find(payment, within())).toEqual({ state: 'absent', gone: true });
    await deeper.close?.();
  });
});

describe('one key shared by several processes', () => {
  test('settles each of twenty concurrent payments of two processes once', async () => {
    const second = networkOn(chain);
    const before = await chain.balanceOf(PAYEE);
    const payments: SignedPayment[] = [];
    for (let count = 0; count < 20; count += 1) payments.push(await readOn(network, await signedOn(chain)));
    // They sometimes outbid each other. The dropped transaction is then sent again.
    await Promise.all(payments.map((payment, place) => settledAtLast(payment, place % 2 ? network : second)));
    for (const payment of payments) {
      expect(await network.find(payment, within())).toMatchObject({ state: 'final' });
    }
    expect(await chain.balanceOf(PAYEE)).toBe(before + 200n * DOLLAR);
    await second.close?.();
  });

  test('reports a transaction that the node forgot as dropped, but not one that waits', async () => {
    const payment = await readOn(network, await signedOn(chain));
    await chain.client.setAutomine(false);
    try {
      const outcome = await network.settle(payment, within());
      if (outcome.outcome !== 'sent' || outcome.transaction === undefined) throw new Error(outcome.outcome);
      const hash = outcome.transaction as Hex;
      expect(await network.find(payment, within(), hash)).toEqual({ state: 'absent', gone: false });
      await chain.client.dropTransaction({ hash });
      const dropped = { state: 'absent', gone: false, dropped: true };
      expect(await network.find(payment, within(), hash)).toEqual(dropped);
      // No hint, or one of a facilitator: its transaction is unknown.
      expect(await network.find(payment, within())).toEqual({ state: 'absent', gone: false });
      const facilitated = networkOn(chain, {
        facilitatorUrl: 'http://127.0.0.1:1',
        feePayerKeyEnv: undefined,
      });
      expect(await facilitated.find(payment, within(), hash)).toEqual({ state: 'absent', gone: false });
      await facilitated.close?.();
    } finally {
      await chain.client.setAutomine(true);
    }
    await settledAtLast(payment, network);
  });

  test('moves the money once for ten concurrent submissions of the same payment', async () => {
    const second = networkOn(chain);
    const before = await chain.balanceOf(PAYEE);
    const payment = await readOn(network, await signedOn(chain));
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, place) => (place % 2 ? network : second).settle(payment, within())),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'sent').length).toBeGreaterThan(0);
    expect(outcomes.some(({ outcome }) => outcome === 'refused')).toBe(false);
    await expect
      .poll(() => chain.client.getTransactionCount({ address: FEE_PAYER, blockTag: 'latest' }))
      .toBe(await chain.client.getTransactionCount({ address: FEE_PAYER, blockTag: 'pending' }));
    expect(await chain.balanceOf(PAYEE)).toBe(before + 10n * DOLLAR);
    await second.close?.();
  });
});

describe('answers of a node to a transaction', () => {
  const SENDING = 'eth_sendRawTransaction';
  const answering = async (message: string, times = Number.POSITIVE_INFINITY) => {
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    let left = times;
    node.rewrite(({ method, id, jsonrpc }) => {
      if (method !== SENDING || left <= 0) return undefined;
      left -= 1;
      return { jsonrpc, id, error: { code: -32000, message } };
    });
    const outcome = await own.settle(payment, within());
    node.rewrite(undefined);
    await own.close?.();
    return outcome;
  };

  test.each([
    ['already known', 'sent'],
    ['insufficient funds for gas * price + value', 'refused'],
    ['transaction underpriced', 'refused'],
    // It accepted the transaction nevertheless, as the next read shows.
    ['nonce too low', 'unknown'],
    ['replacement transaction underpriced', 'unknown'],
  ])('%s: %s', async (message, outcome) => {
    expect(await answering(message)).toMatchObject({ outcome });
  });

  test('a wrong hash leaves the outcome unknown, with the hash that we computed', async () => {
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    node.rewrite(({ method }, reply) => (method === SENDING ? { ...reply, result: `0x${'1'.repeat(64)}` } : undefined));
    const outcome = await own.settle(payment, within());
    node.rewrite(undefined);
    expect(outcome).toMatchObject({ outcome: 'unknown' });
    const transaction = 'transaction' in outcome ? outcome.transaction : undefined;
    const found = () => own.find(payment, within(), transaction);
    await expect.poll(found).toMatchObject({ state: 'final', transaction });
    await own.close?.();
  });

  test('excessive fees or gas prevent the submission', async () => {
    const before = node.calls.get(SENDING) ?? 0;
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    node.rewrite(({ method }, reply) => (method === 'eth_estimateGas' ? { ...reply, result: '0xffffff' } : undefined));
    expect(await own.settle(payment, within())).toMatchObject({ outcome: 'refused' });
    node.rewrite(({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { ...reply, result: { ...(reply.result as object), baseFeePerGas: '0xffffffffffff' } }
        : undefined,
    );
    expect(await own.settle(payment, within())).toMatchObject({ outcome: 'refused' });
    node.rewrite(undefined);
    expect(node.calls.get(SENDING) ?? 0).toBe(before);
    await own.close?.();
  });

  test('a lost answer leaves the outcome unknown until the chain shows the payment', async () => {
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    node.rewrite(({ method }, reply) => (method === SENDING ? { ...reply, jsonrpc: 'lost' } : undefined));
    const outcome = await own.settle(payment, within());
    expect(outcome).toMatchObject({ outcome: 'unknown', transaction: expect.stringMatching(/^0x/) });
    node.rewrite(undefined);
    await expect.poll(() => own.find(payment, within())).toMatchObject({ state: 'final' });
    await own.close?.();
  });

  test('no answer before anything was sent is a refusal that may be retried', async () => {
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    node.fail('hangs up');
    expect(await own.settle(payment, within())).toMatchObject({ outcome: 'refused' });
    node.fail(undefined);
    await settled(payment, own);
    await own.close?.();
  });
});

test('refuses a settling account without ether, with a reason that does not contain its key', async () => {
  const privateKey: Hex = generatePrivateKey();
  const tools = { secret: () => privateKey, callTimeoutMs: 4_000 };
  const poor = createEvmPayments(settingsOn(chain), tools);
  const payment = await readOn(poor, await signedOn(chain));
  const outcome = await poor.settle(payment, within());
  expect(outcome).toMatchObject({ outcome: 'refused' });
  expect(JSON.stringify(outcome)).not.toContain(privateKey.slice(2));
  await chain.client.setBalance({ address: privateKeyToAccount(privateKey).address, value: parseEther('1') });
  await settled(payment, poor);
  await poor.close?.();
});

test('submits through one of two nodes, and both may accept the same transaction', async () => {
  const both = networkOn(chain, { rpcUrls: [node.url, chain.rpcUrl] });
  await settled(await readOn(both, await signedOn(chain)), both);
  for (const how of ['hangs up', 'answers 500', 'answers HTML'] as const) {
    node.fail(how);
    await settled(await readOn(both, await signedOn(chain)), both);
  }
  node.fail(undefined);
  await both.close?.();
});
