import type { Hex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chainClient } from '../../dev/chain/chainClient.ts';
import { untilMined } from '../../dev/chain/untilMined.ts';
import { testContract } from './artifact.ts';
import { type EvmChain, startEvmChain } from './evmChain.ts';
import { startRpcNode } from './rpcNode.ts';

let chain: EvmChain;

beforeAll(async () => {
  chain = await startEvmChain();
});

afterAll(() => chain.stop());

const DOLLAR = 1_000_000n;

async function signed(value = DOLLAR) {
  const [payer, payee] = await Promise.all([chain.newWallet(10n * DOLLAR), chain.newWallet()]);
  const authorization = await chain.authorization({ from: payer.address, to: payee.address, value });
  return { payer, payee, authorization, signature: await chain.sign(payer, authorization) };
}

test('a signed authorization transfers once', async () => {
  const { payer, payee, authorization, signature } = await signed();
  const receipt = await chain.settle(authorization, signature);
  expect(receipt.logs).toHaveLength(2);
  expect(await chain.balanceOf(payee.address)).toBe(DOLLAR);
  expect(await chain.isUsed(payer.address, authorization.nonce)).toBe(true);
  await expect(chain.settle(authorization, signature)).rejects.toThrow('authorization is used or canceled');
});

test('a changed or expired authorization transfers nothing', async () => {
  const { authorization, signature } = await signed();
  await expect(chain.settle({ ...authorization, value: 2n }, signature)).rejects.toThrow('invalid signature');
  await chain.setTime(authorization.validBefore);
  await expect(chain.settle(authorization, signature)).rejects.toThrow('authorization is expired');
});

test("a contract wallet pays by its owner's signature", async () => {
  const owner = await chain.newWallet();
  const wallet = await chain.deployNamed('SmartWallet', [owner.address]);
  await chain.mint(wallet, DOLLAR);
  const authorization = await chain.authorization({ from: wallet, to: owner.address, value: DOLLAR });
  await chain.settle(authorization, await chain.sign(owner, authorization));
  expect(await chain.balanceOf(owner.address)).toBe(DOLLAR);
});

test.each(['RevertingWallet', 'EndlessWallet'])('%s pays nothing', async (name) => {
  const { payee, authorization, signature } = await signed();
  const wallet = await chain.deployNamed(name);
  await chain.mint(wallet, DOLLAR);
  await expect(chain.settle({ ...authorization, from: wallet }, signature)).rejects.toThrow();
  expect(await chain.balanceOf(payee.address)).toBe(0n);
});

test('a receipt is found although the node has it only after the last block', async () => {
  const node = await startRpcNode(chain.rpcUrl);
  const { transactionHash } = await chain.mint((await chain.newWallet()).address, DOLLAR);
  let early = 3;
  node.rewrite(({ method }, reply) => {
    const isEarly = method === 'eth_getTransactionReceipt' && early-- > 0;
    return isEarly ? { ...reply, result: null } : undefined;
  });
  const client = chainClient(node.url, chain.chainId, chain.bank);
  expect(await untilMined(client, transactionHash)).toMatchObject({ transactionHash, status: 'success' });
  expect(node.calls.get('eth_getTransactionReceipt')).toBe(4);
  await node.close();
});

test('reverting to a snapshot undoes later transactions', async () => {
  const { payer, authorization, signature } = await signed();
  const before = await chain.snapshot();
  const { transactionHash } = await chain.settle(authorization, signature);
  await chain.revert(before);
  expect(await chain.isUsed(payer.address, authorization.nonce)).toBe(false);
  await expect(chain.client.getTransactionReceipt({ hash: transactionHash })).rejects.toThrow();
});

test('a factory deploys a wallet at the address that it predicted', async () => {
  const owner = await chain.newWallet();
  const factory = await chain.deployNamed('SmartWalletFactory');
  const { abi } = testContract('SmartWalletFactory');
  const salt: Hex = `0x${'07'.repeat(32)}`;
  const call = { address: factory, abi, args: [owner.address, salt] };
  const address = (await chain.client.readContract({ ...call, functionName: 'addressOf' })) as Hex;
  expect(await chain.client.getCode({ address })).toBeUndefined();
  await chain.write({ ...call, functionName: 'make' });
  expect(await chain.client.getCode({ address })).toBeDefined();
});

test('a reorganisation undoes a payment, which can be submitted again', async () => {
  const { payee, authorization, signature } = await signed();
  const { transactionHash } = await chain.settle(authorization, signature);
  await chain.reorg(1);
  await expect(chain.client.getTransactionReceipt({ hash: transactionHash })).rejects.toThrow();
  expect(await chain.balanceOf(payee.address)).toBe(0n);
  await chain.settle(authorization, signature);
  expect(await chain.balanceOf(payee.address)).toBe(DOLLAR);
});
