/** Limits on the fees that our key pays for settlements, and the replacement of transactions with too low a fee. */
import type { Hex } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PaymentNetwork, SignedPayment } from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { startRpcNode, type TestNode } from '../../../chains/rpcNode.ts';
import { DOLLAR, networkOn, readOn, signedOn } from './signedPayments.ts';

let chain: EvmChain;
let node: TestNode;
let network: PaymentNetwork;
const within = () => AbortSignal.timeout(60_000);

beforeAll(async () => {
  chain = await startEvmChain();
  node = await startRpcNode(chain.rpcUrl);
  network = networkOn(chain);
});

afterAll(async () => {
  await network?.close?.();
  await node?.close();
  await chain?.stop();
});

async function settled(payment: SignedPayment): Promise<string> {
  const outcome = await network.settle(payment, within());
  const transaction = 'transaction' in outcome ? (outcome.transaction ?? '') : '';
  await chain.mined(transaction as Hex);
  return transaction;
}

describe('the fees of a settlement', () => {
  test('a wallet that holds only while gas costs nothing is refused before it is handed in', async () => {
    const wallet = await chain.deployNamed('GasPriceWallet');
    await chain.mint(wallet, 20n * DOLLAR);
    const { authorization } = await signedOn(chain, { from: wallet });
    const owner = await chain.newWallet();
    const signature = await chain.sign(owner, authorization);
    const payment = await readOn(network, { payer: owner, authorization, signature });
    await expect(network.verify(payment, within())).rejects.toMatchObject({
      details: { reason: 'reverted' },
    });
    expect(await network.settle(payment, within())).toMatchObject({ outcome: 'refused' });
  });

  test("are approved before anything is sent, and cap the transaction's fees", async () => {
    const payment = await readOn(network, await signedOn(chain));
    const refused = await network.settle(payment, within(), { approveFee: async () => false });
    expect(refused).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('budget') });
    expect(await network.find(payment, within())).toEqual({ state: 'absent', gone: false });
    let approved = 0n;
    const approveFee = async (fee: bigint) => {
      approved += fee;
      return true;
    };
    const outcome = await network.settle(payment, within(), { approveFee });
    const hash = ('transaction' in outcome ? outcome.transaction : undefined) as Hex;
    const { gasUsed, effectiveGasPrice } = await chain.mined(hash);
    expect(approved).toBeGreaterThanOrEqual(gasUsed * effectiveGasPrice);
  });
});

describe('a transaction whose fee is too low', () => {
  test('is told as stuck, and is replaced under its own number by one that pays more', async () => {
    const payment = await readOn(network, await signedOn(chain));
    const through = networkOn({ ...chain, rpcUrl: node.url });
    await chain.client.setAutomine(false);
    try {
      const first = await through.settle(payment, within());
      const hint = 'transaction' in first ? (first.transaction ?? '') : '';
      expect(await through.find(payment, within(), hint)).toEqual({ state: 'absent', gone: false });
      const { maxFeePerGas = 0n, nonce } = await chain.client.getTransaction({ hash: hint as Hex });
      const baseFeePerGas = `0x${(maxFeePerGas * 2n).toString(16)}`;
      node.rewrite(({ method }, reply) =>
        method === 'eth_getBlockByNumber'
          ? { ...reply, result: { ...(reply.result as object), baseFeePerGas } }
          : undefined,
      );
      const stuck = { state: 'absent', gone: false, stuck: true };
      expect(await through.find(payment, within(), hint)).toEqual(stuck);
      const second = await through.settle(payment, within(), { replaces: hint });
      node.rewrite(undefined);
      const hash = ('transaction' in second ? second.transaction : undefined) as Hex;
      expect(second.outcome).toBe('sent');
      expect(hash).not.toBe(hint);
      const replaced = await chain.client.getTransaction({ hash });
      expect(replaced).toMatchObject({ nonce });
      expect(replaced.maxFeePerGas).toBeGreaterThanOrEqual(maxFeePerGas * 4n);
      await chain.mine(1);
      expect(await through.find(payment, within(), hash)).toMatchObject({
        state: 'final',
        transaction: hash,
      });
    } finally {
      node.rewrite(undefined);
      await chain.client.setAutomine(true);
      await through.close?.();
    }
  });

  test('is not replaced once it is mined, and is sent again if no node knows it', async () => {
    const payment = await readOn(network, await signedOn(chain));
    const transaction = await settled(payment);
    const again = await network.settle(payment, within(), { replaces: transaction });
    expect(again).toMatchObject({ outcome: 'unknown', transaction });
    const other = await readOn(network, await signedOn(chain));
    const outcome = await network.settle(other, within(), { replaces: `0x${'1'.repeat(64)}` });
    expect(outcome).toMatchObject({ outcome: 'sent' });
  });
});
