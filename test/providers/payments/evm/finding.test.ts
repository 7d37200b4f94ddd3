import { encodeFunctionData, type Hex } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TEST_USD } from '../../../../dev/chain/testUsd.ts';
import type { PaymentNetwork, SignedPayment } from '../../../../providers/payments/paymentNetwork.ts';
import { ChainUnavailable, UsedBefore } from '../../../../providers/payments/paymentNetwork.ts';
import { testContract } from '../../../chains/artifact.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { startRpcNode, type TestNode } from '../../../chains/rpcNode.ts';
import { DOLLAR, networkOn, PAYEE, readOn, type Signed, signedOn } from './signedPayments.ts';

let chain: EvmChain;
let nodes: TestNode[];
const open: PaymentNetwork[] = [];
const within = AbortSignal.timeout(600_000);

beforeAll(async () => {
  chain = await startEvmChain();
  nodes = await Promise.all([1, 2, 3].map(() => startRpcNode(chain.rpcUrl)));
});

beforeEach(() => {
  for (const node of nodes) {
    node.fail(undefined);
    node.rewrite(undefined);
    node.lag(0);
  }
});

afterAll(async () => {
  await Promise.all(open.map((network) => network.close?.()));
  await Promise.all(nodes.map((node) => node.close()));
  await chain.stop();
});

function opened(some: Parameters<typeof networkOn>[1] = {}, on: Pick<EvmChain, 'network' | 'usdc' | 'rpcUrl'> = chain) {
  const network = networkOn(on, some);
  open.push(network);
  return network;
}

/** Reads through this many of the nodes whose answers the tests can falsify. */
function through(count: number, confirmations = 0): PaymentNetwork {
  return opened({ rpcUrls: urlsOf(count), confirmations });
}

const urlsOf = (count: number) => nodes.slice(0, count).map(({ url }) => url);

async function paid(): Promise<{ signed: Signed; payment: SignedPayment; transaction: Hex }> {
  const signed = await signedOn(chain);
  const payment = await readOn(opened(), signed);
  const { transactionHash } = await chain.settle(signed.authorization, signed.signature);
  return { signed, payment, transaction: transactionHash };
}

function node(place: number): TestNode {
  const found = nodes[place];
  if (found === undefined) throw new Error(`there is no node ${place}`);
  return found;
}

describe('required confirmations of a payment', () => {
  test('keep it pending until that many blocks follow its own', async () => {
    const network = opened({ confirmations: 3 });
    const { payment, transaction } = await paid();
    for (let blocks = 0; blocks < 3; blocks += 1) {
      expect(await network.find(payment, within)).toEqual({ state: 'pending', transaction });
      await chain.mine(1);
    }
    expect(await network.find(payment, within)).toEqual({ state: 'final', transaction, amount: '10000000' });
  });

  test('keep it reversible by a reorganisation, after which it can be settled again', async () => {
    const network = opened({ confirmations: 2 });
    const { payment, transaction } = await paid();
    await chain.mine(1);
    expect(await network.find(payment, within, transaction)).toMatchObject({ state: 'pending' });
    await chain.reorg(2);
    expect(await network.find(payment, within, transaction)).toMatchObject({ state: 'absent', gone: false });
    const outcome = await network.settle(payment, within);
    expect(outcome).toMatchObject({ outcome: 'sent' });
    await expect.poll(() => network.find(payment, within)).toMatchObject({ state: 'pending' });
    await chain.mine(2);
    expect(await network.find(payment, within, transaction)).toMatchObject({ state: 'final' });
  });

  test('a payment after a restored snapshot is absent', async () => {
    const before = await chain.snapshot();
    const signed = await signedOn(chain);
    const payment = await readOn(opened(), signed);
    const middle = await chain.snapshot();
    const { transactionHash } = await chain.settle(signed.authorization, signed.signature);
    expect(await opened().find(payment, within)).toMatchObject({ state: 'final' });
    await chain.revert(middle);
    expect(await opened().find(payment, within, transactionHash)).toMatchObject({
      state: 'absent',
      gone: false,
    });
    await chain.revert(before);
  });

  test("ignores a receipt whose block is not on the node's chain", async () => {
    const { payment, transaction } = await paid();
    const network = through(1);
    const elsewhere = `0x${'e'.repeat(64)}`;
    node(0).rewrite(({ method }, reply) =>
      method === 'eth_getTransactionReceipt'
        ? { ...reply, result: { ...(reply.result as object), blockHash: elsewhere } }
        : undefined,
    );
    expect(await network.find(payment, within, transaction)).toEqual({ state: 'absent', gone: false });
  });
});

describe('an expired payment', () => {
  test('is gone only when a final block proves it', async () => {
    const before = await chain.snapshot();
    const signed = await signedOn(chain);
    const network = opened({ confirmations: 2 });
    const payment = await readOn(network, signed);
    await chain.setTime(signed.authorization.validBefore - 1n);
    await chain.mine(0);
    expect(await network.find(payment, within)).toEqual({ state: 'absent', gone: false });
    await chain.setTime(signed.authorization.validBefore);
    expect(await network.find(payment, within)).toEqual({ state: 'absent', gone: false });
    await chain.mine(2);
    expect(await network.find(payment, within)).toEqual({ state: 'absent', gone: true });
    await chain.revert(before);
  });

  test('settled in the last second is still found', async () => {
    const before = await chain.snapshot();
    const signed = await signedOn(chain);
    const network = opened();
    const payment = await readOn(network, signed);
    await chain.client.setNextBlockTimestamp({ timestamp: signed.authorization.validBefore - 1n });
    await chain.settle(signed.authorization, signed.signature);
    await chain.setTime(signed.authorization.validBefore + 100n);
    expect(await network.find(payment, within)).toMatchObject({ state: 'final' });
    await chain.revert(before);
  });
});

describe('an authorization that was used before it was submitted', () => {
  test('is found within a day, and is told as used before where it was earlier', async () => {
    const own = await startEvmChain();
    try {
      const network = opened({}, own);
      const signed = await signedOn(own);
      const payment = await readOn(network, signed);
      const { transactionHash: transaction } = await own.settle(signed.authorization, signed.signature);
      await own.setTime((await own.now()) + 86_400n);
      await own.mine(300);
      await own.setTime((await own.now()) + 3n * 86_400n);
      await own.mine(100);
      const readAfter = async (hours: number) => {
        const readAt = String(Math.floor(Date.now() / 1_000) + hours * 3_600);
        return await network.find({ ...payment, readAt }, within);
      };
      expect(await readAfter(20)).toMatchObject({ state: 'final', transaction });
      await expect(readAfter(60)).rejects.toThrow(UsedBefore);
    } finally {
      await own.stop();
    }
  });
});

test('finds a payment in flight after the configured token changed', async () => {
  const { payment, transaction } = await paid();
  const other = await chain.deploy(TEST_USD);
  const changed = opened({ asset: other.toLowerCase() });
  expect(await changed.find(payment, within)).toMatchObject({ state: 'final', transaction });
});

describe('wrong transfers', () => {
  test("does not credit one of two authorizations in a transaction with the other's transfer", async () => {
    const first = await signedOn(chain);
    const payer = first.payer;
    // The payer signs a transfer to himself with the same nonce as the one shown to us.
    const promised = await readOn(opened(), first);
    const used = { ...first.authorization, to: payer.address };
    const second = await chain.authorization({
      from: payer.address,
      to: PAYEE,
      value: 10n * DOLLAR,
      validAfter: 0n,
    });
    const signedSecond = { payer, authorization: second, signature: await chain.sign(payer, second) };
    const credited = await readOn(opened(), signedSecond);
    const batch = await chain.deployNamed('Batch');
    const callOf = (a: typeof used, signature: Hex) =>
      encodeFunctionData({
        abi: TEST_USD.abi,
        functionName: 'transferWithAuthorization',
        args: [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, signature],
      });
    const calls = [callOf(used, await chain.sign(payer, used)), callOf(second, signedSecond.signature)];
    for (const order of [calls, calls.toReversed()]) {
      const middle = await chain.snapshot();
      const { abi } = testContract('Batch');
      const args = [[chain.usdc, chain.usdc], order];
      const { transactionHash } = await chain.write({ address: batch, abi, functionName: 'run', args });
      expect(await opened().find(promised, within, transactionHash)).toMatchObject({ state: 'wrong' });
      expect(await opened().find(credited, within, transactionHash)).toMatchObject({ state: 'final' });
      await chain.revert(middle);
    }
  });

  test.each([
    ['NoTransfer', 1],
    ['LessThanSigned', 2],
    ['ToSomebodyElse', 3],
  ])('an authorization used without the money is wrong: %s', async (_name, oddity) => {
    const { abi } = testContract('OddUSD');
    const odd = await startEvmChain({ token: testContract('OddUSD') });
    try {
      const network = opened({}, odd);
      const signed = await signedOn(odd);
      const payment = await readOn(network, signed);
      await odd.write({ address: odd.usdc, abi, functionName: 'setOddity', args: [oddity] });
      await odd.settle(signed.authorization, signed.signature);
      expect(await network.find(payment, within)).toMatchObject({ state: 'wrong' });
    } finally {
      await odd.stop();
    }
  });

  test('an unrelated transaction as the hint finds nothing', async () => {
    const { transaction } = await paid();
    const payment = await readOn(opened(), await signedOn(chain));
    expect(await opened().find(payment, within, transaction)).toEqual({ state: 'absent', gone: false });
  });
});

describe('several nodes', () => {
  const LIES: [string, (method: string, result: unknown) => unknown][] = [
    ['that the authorization is unused', (method, result) => (method === 'eth_call' ? `0x${'0'.repeat(64)}` : result)],
    ['that there is no receipt', (method, result) => (method === 'eth_getTransactionReceipt' ? null : result)],
    [
      'that the transfer was of more',
      (method, result) =>
        method === 'eth_getTransactionReceipt'
          ? JSON.parse(JSON.stringify(result).replaceAll('989680', '98968f'))
          : result,
    ],
    [
      'another hash of the block',
      (method, result) =>
        method === 'eth_getBlockByNumber' ? { ...(result as object), hash: `0x${'d'.repeat(64)}` } : result,
    ],
    ['no events', (method, result) => (method === 'eth_getLogs' ? [] : result)],
  ];

  test.each(LIES)('one of two says %s: nothing is credited', async (_name, lie) => {
    const { payment } = await paid();
    const network = through(2);
    await network.find(payment, within);
    node(1).rewrite(({ method }, reply) => ({ ...reply, result: lie(method, reply.result) }));
    const found = await network.find(payment, within).catch((error: unknown) => error);
    if (!(found instanceof ChainUnavailable))
      expect(found).toMatchObject({ state: expect.stringMatching(/pending|absent/) });
  });

  test.each(LIES)('one of three says %s: the answer of the other two counts', async (_name, lie) => {
    const { payment, transaction } = await paid();
    const network = through(3);
    await network.find(payment, within);
    node(2).rewrite(({ method }, reply) => ({ ...reply, result: lie(method, reply.result) }));
    expect(await network.find(payment, within)).toEqual({ state: 'final', transaction, amount: '10000000' });
  });

  test('a payment invented by one of three is absent', async () => {
    const { transaction } = await paid();
    const network = through(3);
    const payment = await readOn(network, await signedOn(chain));
    node(0).rewrite(({ method }, reply) =>
      method === 'eth_call' ? { ...reply, result: `0x${'0'.repeat(63)}1` } : undefined,
    );
    const found = await network.find(payment, within, transaction);
    expect(found).toEqual({ state: 'absent', gone: false });
  });

  test('a node that lags behind keeps a payment pending until it has caught up', async () => {
    const { payment, transaction } = await paid();
    await chain.mine(2);
    const network = through(2, 2);
    node(1).lag(1);
    expect(await network.find(payment, within)).toEqual({ state: 'pending', transaction });
    node(1).lag(0);
    expect(await network.find(payment, within)).toMatchObject({ state: 'final' });
  });

  test.each([
    'hangs',
    'hangs up',
    'answers 500',
    'answers HTML',
    'answers garbage',
    'answers 10 MB',
    'stops halfway',
  ] as const)('one that %s: three nodes still decide, two do not', async (how) => {
    const { payment } = await paid();
    const [three, two] = [through(3), through(2)];
    node(1).fail(how);
    expect(await three.find(payment, within)).toMatchObject({ state: 'final' });
    await expect(two.find(payment, within)).rejects.toThrow(ChainUnavailable);
  });

  test('a node of another chain is not trusted until it reports the right chain', async () => {
    const { payment } = await paid();
    node(0).rewrite(({ method }, reply) => (method === 'eth_chainId' ? { ...reply, result: '0x1' } : undefined));
    const network = through(1);
    await expect(network.find(payment, within)).rejects.toThrow(ChainUnavailable);
    expect(await through(3).find(payment, within)).toMatchObject({ state: 'final' });
    node(0).rewrite(undefined);
    expect(await network.find(payment, within)).toMatchObject({ state: 'final' });
  });

  test('a token with other decimals is not accepted', async () => {
    const { payment } = await paid();
    const decimals = '0x313ce567';
    node(0).rewrite(({ params }, reply) =>
      JSON.stringify(params).includes(decimals) ? { ...reply, result: `0x${'0'.repeat(62)}12` } : undefined,
    );
    await expect(through(1).verify(payment, within)).rejects.toThrow(ChainUnavailable);
  });

  test('a node that limits block ranges is queried with shorter ones', async () => {
    const { payment, transaction } = await paid();
    await chain.mine(300);
    node(0).rewrite(({ method, params, id, jsonrpc }) => {
      const [range] = (params ?? []) as { fromBlock: string; toBlock: string }[];
      if (method !== 'eth_getLogs' || Number(range?.toBlock) - Number(range?.fromBlock) < 50) return undefined;
      return { jsonrpc, id, error: { code: -32005, message: 'block range too large' } };
    });
    expect(await through(1).find(payment, within)).toMatchObject({ state: 'final', transaction });
  });

  test('a verification succeeds only with enough agreeing nodes', async () => {
    const payment = await readOn(opened(), await signedOn(chain));
    node(1).rewrite(({ method }, reply) =>
      method === 'eth_call' && JSON.stringify(reply.result).length < 10
        ? { jsonrpc: '2.0', id: reply.id, error: { code: 3, message: 'execution reverted' } }
        : undefined,
    );
    await expect(through(2).verify(payment, within)).rejects.toThrow(ChainUnavailable);
    await through(3).verify(payment, within);
  });
});

test('does not wait for a silent node when enough others agree', async () => {
  const { payment } = await paid();
  // The node's own deadline is far beyond that of the test.
  const network = networkOn(chain, { rpcUrls: urlsOf(3) }, 3_600_000);
  open.push(network);
  await network.find(payment, within);
  node(2).fail('hangs');
  expect(await network.find(payment, within)).toMatchObject({ state: 'final' });
});

test("ends at the caller's deadline", async () => {
  const { payment } = await paid();
  node(0).fail('hangs');
  await expect(through(1).find(payment, AbortSignal.timeout(50))).rejects.toThrow(/aborted|timeout/i);
});
