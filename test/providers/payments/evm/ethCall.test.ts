import { encodeFunctionData, parseAbi } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEthCalls, type EthCalls } from '../../../../providers/payments/evm/ethCall.ts';
import { ChainUnavailable } from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { startRpcNode, type TestNode } from '../../../chains/rpcNode.ts';
import { settingsOn } from './signedPayments.ts';

let chain: EvmChain;
let node: TestNode;
let calls: EthCalls;
const within = AbortSignal.timeout(600_000);

beforeAll(async () => {
  chain = await startEvmChain();
  node = await startRpcNode(chain.rpcUrl);
  calls = createEthCalls([settingsOn({ ...chain, rpcUrl: node.url })]);
});

afterAll(async () => {
  await calls.close();
  await node.close();
  await chain.stop();
});

const MAGIC = `0x1626ba7e${'0'.repeat(56)}`;
const data = encodeFunctionData({
  abi: parseAbi(['function isValidSignature(bytes32, bytes) view returns (bytes4)']),
  args: [`0x${'1'.repeat(64)}`, '0x1234'],
});

async function ask(name: string) {
  const to = await chain.deployNamed(name);
  return await calls.ethCall(chain.network, { to, data, gas: 1_000_000n }, within);
}

test('distinguishes an answer, a revert, exhausted gas and an oversized answer of a contract', async () => {
  expect(await ask('YesWallet')).toEqual({ ok: true, data: MAGIC });
  expect(await ask('RevertingWallet')).toEqual({ ok: false });
  expect(await ask('EndlessWallet')).toEqual({ ok: false });
  expect(await ask('VerboseWallet')).toEqual({ ok: false });
});

test('runs code that is not deployed', async () => {
  // Returns the number 7.
  const code = '0x600760005260206000f3';
  const answer = await calls.ethCall(chain.network, { data: code, gas: 100_000n }, within);
  expect(answer).toEqual({ ok: true, data: `0x${'7'.padStart(64, '0')}` });
});

test('never requests gas beyond our own bound', async () => {
  await calls.ethCall(chain.network, { data: '0x00', gas: 10n ** 15n }, within);
  expect(node.bodies.at(-1)).toContain('"gas":"0x989680"');
});

test('reports the chain as unavailable without a node, with a failing node, and with a node of another chain', async () => {
  const call = { data: '0x00', gas: 1n } as const;
  await expect(calls.ethCall('eip155:1', call, within)).rejects.toThrow(ChainUnavailable);
  node.fail('answers 500');
  await expect(calls.ethCall(chain.network, call, within)).rejects.toThrow(ChainUnavailable);
  node.fail(undefined);
  const elsewhere = createEthCalls([settingsOn({ ...chain, network: 'eip155:8453' })]);
  await expect(elsewhere.ethCall('eip155:8453', call, within)).rejects.toThrow(ChainUnavailable);
  await elsewhere.close();
});
