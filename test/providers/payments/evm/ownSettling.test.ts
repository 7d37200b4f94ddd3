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
  // A node takes a transaction first, and puts it into a block a moment later.
  await chain.mined(outcome.transaction as Hex);
  return outcome.transaction;
}

/** As the top-up's workflow does it: what was dropped is handed in again. */
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
    // While a block is being made its state may be there before its events.
    const found = await by.find(payment, within(), hint).catch((error: unknown) => {
      if (!(error instanceof ChainUnavailable)) throw error;
    });
    if (found && (found.state !== 'absent' || found.dropped)) return found;
    await sleep(20);
  }
}

describe('a payment that is good', () => {
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

  test('in the flat legacy shape is the same payment', async () => {
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

  test('is JSON, and means the same after it was written and read', async () => {
    const payment = await readOn(network, await signedOn(chain));
    const copy = JSON.parse(JSON.stringify(payment)) as SignedPayment;
    expect(copy).toEqual(payment);
    await settled(copy);
    expect(await network.find(copy, within())).toMatchObject({ state: 'final' });
  });

  test('of a wallet that is a contract moves its money, and nobody else can sign for it', async () => {
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

  test.each(['RevertingWallet', 'EndlessWallet'])('of a %s is refused in time', async (name) => {
    const wallet = await chain.deployNamed(name);
    await chain.mint(wallet, 20n * DOLLAR);
    const payment = await readOn(network, await signedOn(chain, { from: wallet }));
    await expect(network.verify(payment, within())).rejects.toMatchObject({
      code: 'PAYMENT_VERIFICATION_FAILED',
    });
    expect(await network.settle(payment, within())).toMatchObject({ outcome: 'refused' });
  });
});

describe('what happens between the check and the settling', () => {
  test('the money is gone: nothing is handed in', async () => {
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

  test('somebody else hands it in first: it is found all the same, and never called refused', async () => {
    const signed = await signedOn(chain);
    const payment = await readOn(network, signed);
    const { transactionHash } = await chain.settle(signed.authorization, signed.signature);
    await expect(network.verify(payment, within())).rejects.toMatchObject({ details: { reason: 'used' } });
    expect(await network.settle(payment, within())).toMatchObject({ outcome: 'unknown' });
    expect(await network.find(payment, within())).toEqual({
      ...{ state: 'final', transaction: transactionHash, amount: '10000000' },
    });
  });

  test('its payer uses the nonce for something else: nothing is credited', async () => {
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

  test('its payer cancels it: it can never come any more', async () => {
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

describe('one key in several processes', () => {
  test('twenty payments at once by two of them: each arrives once', async () => {
    const second = networkOn(chain);
    const before = await chain.balanceOf(PAYEE);
    const payments: SignedPayment[] = [];
    for (let count = 0; count < 20; count += 1) payments.push(await readOn(network, await signedOn(chain)));
    // They outbid each other now and then: then one's transaction is dropped for the other's, and is sent once more.
    await Promise.all(payments.map((payment, place) => settledAtLast(payment, place % 2 ? network : second)));
    for (const payment of payments) {
      expect(await network.find(payment, within())).toMatchObject({ state: 'final' });
    }
    expect(await chain.balanceOf(PAYEE)).toBe(before + 200n * DOLLAR);
    await second.close?.();
  });

  test('a transaction that the node forgot is dropped, one that waits is not', async () => {
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
      // Nobody named one, or it is a facilitator's: nothing is known of it.
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

  test('the same payment ten times at once moves the money once', async () => {
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

describe('what a node answers to a transaction', () => {
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
    // It took the transaction all the same, as the next look shows.
    ['nonce too low', 'unknown'],
    ['replacement transaction underpriced', 'unknown'],
  ])('%s: %s', async (message, outcome) => {
    expect(await answering(message)).toMatchObject({ outcome });
  });

  test('a hash of something else: nobody knows, but what was sent has a name', async () => {
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

  test('fees and gas beyond all reason: nothing is handed in', async () => {
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

  test('silence: whether it was handed in is unknown, and the chain tells', async () => {
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    node.rewrite(({ method }, reply) => (method === SENDING ? { ...reply, jsonrpc: 'lost' } : undefined));
    const outcome = await own.settle(payment, within());
    expect(outcome).toMatchObject({ outcome: 'unknown', transaction: expect.stringMatching(/^0x/) });
    node.rewrite(undefined);
    await expect.poll(() => own.find(payment, within())).toMatchObject({ state: 'final' });
    await own.close?.();
  });

  test('no answer at all, before anything was sent: it is refused, and may be tried again', async () => {
    const own = networkOn({ ...chain, rpcUrl: node.url });
    const payment = await readOn(own, await signedOn(chain));
    node.fail('hangs up');
    expect(await own.settle(payment, within())).toMatchObject({ outcome: 'refused' });
    node.fail(undefined);
    await settled(payment, own);
    await own.close?.();
  });
});

test('a settling account without ether is refused; no word of its key is in the reason', async () => {
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

test('of two nodes one is enough to hand in, and both may take the same transaction', async () => {
  const both = networkOn(chain, { rpcUrls: [node.url, chain.rpcUrl] });
  await settled(await readOn(both, await signedOn(chain)), both);
  for (const how of ['hangs up', 'answers 500', 'answers HTML'] as const) {
    node.fail(how);
    await settled(await readOn(both, await signedOn(chain)), both);
  }
  node.fail(undefined);
  await both.close?.();
});
