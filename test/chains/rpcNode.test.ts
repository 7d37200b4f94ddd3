import { createPublicClient, http } from 'viem';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type EvmChain, startEvmChain } from './evmChain.ts';
import { startRpcNode, type TestNode } from './rpcNode.ts';

let chain: EvmChain;
let node: TestNode;

beforeAll(async () => {
  chain = await startEvmChain();
  node = await startRpcNode(chain.rpcUrl);
});

beforeEach(() => {
  node.fail(undefined);
  node.lag(0);
  node.rewrite(undefined);
});

afterAll(async () => {
  await node.close();
  await chain.stop();
});

const client = () => createPublicClient({ transport: http(node.url, { retryCount: 0 }), cacheTime: 0 });

test("passes on the chain's replies, and counts calls", async () => {
  const before = node.calls.get('eth_chainId') ?? 0;
  expect(await client().getChainId()).toBe(chain.chainId);
  expect(node.calls.get('eth_chainId')).toBe(before + 1);
});

test('a lagging node has no receipt and no event of the last blocks', async () => {
  const { transactionHash: hash, blockNumber } = await chain.mint(chain.bank.address, 5n);
  await chain.mine(2);
  node.lag(3);
  expect(await client().getBlockNumber()).toBe(blockNumber - 1n);
  await expect(client().getTransactionReceipt({ hash })).rejects.toThrow();
  expect(await client().getLogs({ fromBlock: blockNumber - 1n })).toEqual([]);
  node.lag(2);
  expect((await client().getTransactionReceipt({ hash })).blockNumber).toBe(blockNumber);
});

test('a node gives rewritten replies', async () => {
  node.rewrite(({ method }, reply) => (method === 'eth_chainId' ? { ...reply, result: '0x1' } : undefined));
  expect(await client().getChainId()).toBe(1);
});

test.each(['hangs up', 'answers 500', 'answers HTML', 'stops halfway'] as const)('a node that %s', async (how) => {
  node.fail(how);
  await expect(client().getChainId()).rejects.toThrow();
});
