import { expect, test } from 'vitest';
import { ChainUnavailable, type SignedPayment } from '../../../../providers/payments/paymentNetwork.ts';
import { RpcFault } from '../../../chains/solana/rpcCall.ts';
import type { NodeCall, SolanaNode } from '../../../chains/solana/solanaNode.ts';
import { envelope, openWorld, type World } from './solanaWorld.ts';

const signal = new AbortController().signal;

async function settled(nodes: number): Promise<World & { payment: SignedPayment }> {
  const world = await openWorld({ nodes });
  const payment = await world.payments.read(await envelope(world), Date.now());
  expect(await world.payments.settle(payment, signal)).toMatchObject({ outcome: 'sent' });
  return { ...world, payment };
}

type Lie = (call: NodeCall, result: unknown) => unknown;

/** Changes a transaction that a node returns. */
function toldOtherwise(change: (told: ToldTransaction) => unknown): Lie {
  return ({ method }, result) =>
    method === 'getTransaction' && result !== null ? change(structuredClone(result) as ToldTransaction) : result;
}

interface ToldTransaction {
  slot: bigint;
  transaction: [string, string];
  meta: {
    err: unknown;
    postTokenBalances: { uiTokenAmount: { amount: string } }[];
    preTokenBalances: unknown[];
  };
}

function withAmounts(change: (amount: bigint, index: number) => bigint): Lie {
  return toldOtherwise((told) => {
    told.meta.postTokenBalances.forEach(({ uiTokenAmount }, index) => {
      uiTokenAmount.amount = change(BigInt(uiTokenAmount.amount), index).toString();
    });
    return told;
  });
}

const LIES: Readonly<Record<string, Lie>> = {
  'it is not there': ({ method }, result) => (method === 'getTransaction' ? null : result),
  'it is in another slot': toldOtherwise((told) => ({ ...told, slot: told.slot + 1n })),
  'it failed': toldOtherwise((told) => ({ ...told, meta: { ...told.meta, err: 'AccountNotFound' } })),
  'it moved less': withAmounts((amount) => amount - 1n),
  'it moved more': withAmounts((amount) => amount + 1n),
  'only the recipient has more': withAmounts((amount, index) => (index === 0 ? amount + 1n : amount)),
  'only the payer has more': withAmounts((amount, index) => (index === 1 ? amount + 1n : amount)),
  'it moved nothing': toldOtherwise((told) => ({
    ...told,
    meta: { ...told.meta, postTokenBalances: told.meta.preTokenBalances },
  })),
  'it is another message': toldOtherwise((told) => {
    const wire = Buffer.from(told.transaction[0], 'base64');
    wire[wire.length - 2] = (wire.at(-2) ?? 0) ^ 1;
    return { ...told, transaction: [wire.toString('base64'), 'base64'] };
  }),
};

test('ignores the lie of one node of three', async () => {
  for (const [name, lie] of Object.entries(LIES)) {
    const world = await settled(3);
    const { chain, nodes, payments, payment } = world;
    chain.advance(32);
    const [first] = nodes;
    if (first !== undefined) first.rewrite = lie;
    expect(await payments.find(payment, signal), name).toMatchObject({ state: 'final', amount: '6000000' });
  }
});

test('credits nothing when two nodes disagree', async () => {
  for (const [name, lie] of Object.entries(LIES)) {
    const { chain, nodes, payments, payment } = await settled(2);
    chain.advance(32);
    const [first] = nodes;
    if (first !== undefined) first.rewrite = lie;
    expect(await payments.find(payment, signal), name).toMatchObject({ state: 'pending' });
  }
});

test('does not credit a transaction that one node invented', async () => {
  const world = await openWorld({ nodes: 3 });
  const { chain, nodes, payments } = world;
  const payment = await payments.read(await envelope(world), Date.now());
  const [first] = nodes;
  const invented = {
    slot: 5_100,
    blockTime: null,
    transaction: [payment.payload.transaction, 'base64'],
    meta: { err: null, preTokenBalances: [], postTokenBalances: [] },
  };
  if (first !== undefined) {
    first.rewrite = ({ method }, result) => (method === 'getTransaction' ? invented : result);
  }
  chain.advance(32);
  expect(await payments.find(payment, signal)).toEqual({ state: 'absent', gone: false });
});

const SILENCES: Readonly<Record<string, (node: SolanaNode) => void>> = {
  'is gone': (node) => void node.close(),
  'never answers': (node) => {
    node.disturb = () => new Promise(() => undefined);
  },
  'answers HTML': (node) => {
    node.disturb = (_, response) => {
      response.writeHead(200).end('<html>');
      return false;
    };
  },
  'is overloaded': (node) => {
    node.disturb = (_, response) => {
      response.writeHead(429).end('{}');
      return false;
    };
  },
  'answers only with errors': (node) => {
    node.rewrite = () => {
      throw new RpcFault(-32005, 'Node is unhealthy');
    };
  },
  'is on another chain': (node) => {
    node.rewrite = ({ method }, result) => (method === 'getGenesisHash' ? '1'.repeat(44) : result);
  },
  'answers another shape': (node) => {
    node.rewrite = ({ method }, result) => (method === 'getGenesisHash' ? result : { value: 'yes' });
  },
};

test('ignores useless nodes while they are the minority, and decides nothing otherwise', async () => {
  for (const [name, silence] of Object.entries(SILENCES)) {
    const world = await openWorld({ nodes: 3 });
    const { chain, nodes, payments } = world;
    const payment = await payments.read(await envelope(world), Date.now());
    const [first, second] = nodes;
    if (first !== undefined) silence(first);
    await payments.verify(payment, signal);
    expect(await payments.settle(payment, signal), name).toMatchObject({ outcome: 'sent' });
    chain.advance(32);
    expect(await payments.find(payment, signal), name).toMatchObject({ state: 'final' });

    const late = await openWorld({ nodes: 2 });
    const theirs = await late.payments.read(await envelope(late), Date.now());
    for (const node of late.nodes) silence(node);
    await expect(late.payments.verify(theirs, signal), name).rejects.toThrow(ChainUnavailable);
    await expect(late.payments.find(theirs, signal), name).rejects.toThrow(ChainUnavailable);
    expect((await late.payments.settle(theirs, signal)).outcome, name).toBe('unknown');
    expect(second?.calls.length).toBeGreaterThan(0);
  }
});

test('reports a settlement with a lost answer as unknown with its signature, and finds it by that', async () => {
  const { chain, nodes, payments, ...world } = await openWorld();
  const payment = await payments.read(await envelope({ chain, nodes, payments, ...world }), Date.now());
  const [node] = nodes;
  if (node === undefined) throw new Error('no node');
  node.rewrite = ({ method }, result) => {
    if (method === 'sendTransaction' || method === 'getSignatureStatuses') throw new RpcFault(-32603, 'lost');
    return result;
  };
  const outcome = await payments.settle(payment, signal);
  expect(outcome).toMatchObject({
    outcome: 'unknown',
    transaction: expect.stringMatching(/^[1-9A-Za-z]{64,88}$/),
  });
  node.rewrite = undefined;
  chain.advance(32);
  const transaction = 'transaction' in outcome ? outcome.transaction : undefined;
  expect(await payments.find(payment, signal)).toEqual({ state: 'final', transaction, amount: '6000000' });
});

test('ignores nodes whose token is not a mint or has other decimals', async () => {
  for (const options of [{ usd: { decimals: 9 } }, { settings: { asset: '11111111111111111111111111111111' } }]) {
    const world = await openWorld(options);
    const good = await openWorld();
    const payment = await good.payments.read(await envelope(good), Date.now());
    await expect(world.payments.verify(payment, signal)).rejects.toThrow();
    await expect(world.payments.find(payment, signal)).rejects.toThrow();
  }
});

test('keeps a payment pending when a single node moves or loses it on the second read', async () => {
  const { chain, nodes, payments, payment } = await settled(1);
  chain.advance(32);
  const [node] = nodes;
  for (const second of [null, (slot: bigint) => slot + 1n]) {
    if (node === undefined) throw new Error('no node');
    node.rewrite = ({ method, params }, result) => {
      const isSecond = (params[1] as { commitment?: string } | undefined)?.commitment === 'finalized';
      if (method !== 'getTransaction' || !isSecond) return result;
      const told = result as ToldTransaction;
      return second === null ? null : { ...told, slot: second(told.slot) };
    };
    expect(await payments.find(payment, signal)).toMatchObject({ state: 'pending' });
  }
});

test('does not credit a transfer that the balances of one side contradict', async () => {
  for (const lie of [LIES['only the recipient has more'], LIES['only the payer has more'], LIES['it moved less']]) {
    const { chain, nodes, payments, payment } = await settled(1);
    chain.advance(32);
    const [node] = nodes;
    if (node !== undefined) node.rewrite = lie;
    expect(await payments.find(payment, signal)).toMatchObject({ state: 'wrong' });
  }
});

test('counts confirmations in slots below those of a final block', async () => {
  const world = await openWorld({ settings: { confirmations: 3 } });
  const { chain, payments } = world;
  const payment = await payments.read(await envelope(world), Date.now());
  await payments.settle(payment, signal);
  chain.advance(1);
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'pending' });
  chain.advance(2);
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'final' });
});
