/** Two nodes, one of which fails under load: nearly all reads are answered, and no transaction is sent twice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RpcEvent, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { type ChainNode, itemText, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read, together, told, write } from './openUpstreams.ts';

let nodes: [ChainNode, ChainNode];
let upstreams: RpcUpstreams;
let events: RpcEvent[];
beforeEach(async () => {
  nodes = [await startChainNode(), await startChainNode()];
  ({ upstreams, events } = openUpstreams(nodes.map(({ url }) => url)));
});
afterEach(async () => {
  vi.useRealTimers();
  await upstreams.close();
  await Promise.all(nodes.map((node) => node.close()));
});

/** Share of reads that were answered, with this many concurrent clients. */
async function load(calls: number, meanwhile: (done: number) => void = () => undefined): Promise<number> {
  let asked = 0;
  let answered = 0;
  const client = async () => {
    while (asked < calls) {
      asked += 1;
      meanwhile(asked);
      const outcome = await upstreams.single(NETWORK, read(), patient());
      if (outcome.kind === 'result') answered += 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  return answered / asked;
}

/** Long enough for a busy machine. */
const IN_TIME = { timeout: 60_000 };

/** Counts the reads of a series that went to this node; all of them must be answered. */
async function askedOf(node: ChainNode, calls: number): Promise<number> {
  const before = node.requests;
  expect(await load(calls)).toBe(1);
  return node.requests - before;
}

const WRONGS: [string, (node: ChainNode) => void][] = [
  [
    'is killed',
    (node) => {
      node.looksFail = true;
      node.reply = () => (response) => void response.destroy();
    },
  ],
  ['limits', (node) => (node.reply = () => ({ status: 429 }))],
  [
    'limits in words',
    (node) => (node.answer = () => '"error":{"code":-32005,"message":"daily request count exceeded"}'),
  ],
  ['fails', (node) => (node.reply = () => ({ status: 502, body: 'bad gateway' }))],
  ['lies about ids', (node) => (node.reply = () => itemText(1, '"result":"lie"'))],
  ['answers HTML', (node) => (node.reply = () => '<html></html>')],
  ['says both', (node) => (node.answer = () => '"result":1,"error":{"code":1,"message":"x"}')],
  ['refuses our key', (node) => (node.reply = () => ({ status: 401 }))],
  ['is slow', (node) => (node.delayMs = 100)],
];

describe('reads', () => {
  it.each(WRONGS)('are answered when one of two nodes %s under load', async (_name, wrong) => {
    const calls = 1_000;
    const share = await load(calls, (done) => {
      if (done === 200) wrong(nodes[0]);
    });
    expect(share).toBeGreaterThanOrEqual(0.999);
  });

  it('continue at the other node when one accepts connections and never answers', async () => {
    await load(200);
    nodes[0].reply = () => () => undefined;
    nodes[0].looksFail = true;
    expect(await load(400)).toBe(1);
  });

  it('avoid a node that lags, and return when it has caught up', async () => {
    await upstreams.single(NETWORK, read(), patient());
    nodes[0].height -= 500;
    await expect.poll(() => askedOf(nodes[0], 200), IN_TIME).toBe(0);
    nodes[0].height = nodes[1].height;
    await expect.poll(() => askedOf(nodes[0], 200), IN_TIME).toBeGreaterThan(20);
  });

  it.each([
    ['solana-mainnet', 'getBalance', '{"code":-32016,"message":"Minimum context slot has not been reached"}'],
    ['base-sepolia', 'eth_getLogs', '{"code":-32005,"message":"query returned more than 10000 results"}'],
  ])('on %s are not blocked by a %s with an excessive result', async (network, method, error) => {
    for (const node of nodes) {
      node.answer = (call) => (call.params[0] === 'too much' ? `"error":${error}` : '"result":"ok"');
    }
    const opened = openUpstreams(
      nodes.map(({ url }) => url),
      {},
      network,
    );
    const greedy = await opened.upstreams.single(network, read(method, '["too much"]'), patient());
    const modest = await opened.upstreams.single(network, read(method, '["little"]'), patient());
    await opened.upstreams.close();
    expect([greedy, modest].map(told)).toMatchObject([
      { kind: 'error', value: error },
      { kind: 'result', value: '"ok"' },
    ]);
  });

  it('avoid a node of another chain', async () => {
    nodes[1].genesis = '0xother';
    await upstreams.single(NETWORK, read(), patient());
    await expect.poll(() => askedOf(nodes[1], 100), IN_TIME).toBe(0);
  });

  it('of one batch go to one node', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      const before = nodes.map(({ calls }) => calls.length);
      const items = [...Array.from({ length: 20 }, () => read()), read('eth_getLogs'), read('eth_getLogs')];
      const outcomes = await upstreams.batch(NETWORK, together(items), patient());
      expect(outcomes.every(({ kind }) => kind === 'result')).toBe(true);
      const used = nodes.map(({ calls }, at) => calls.length - (before[at] ?? 0));
      expect(used.sort((left, right) => left - right)).toEqual([0, 22]);
    }
  });
});

describe('a hedge for slow reads', () => {
  it('starts only for the few that are slower than usual', async () => {
    await load(300);
    let seen = 0;
    let held = 0;
    let released = () => {};
    const release = new Promise<void>((resolve) => {
      released = resolve;
    });
    // One read in a hundred gets no answer during the test at either node. Health checks are answered as usual.
    for (const node of nodes) {
      node.reply = (calls) => {
        if (calls[0]?.method !== 'eth_call') return undefined;
        seen += 1;
        // The hedge is answered, at whichever node.
        if (seen % 100 !== 0 || held > 0) return undefined;
        held += 1;
        return async (response) => {
          response.once('close', () => {
            held -= 1;
          });
          await release;
          response.end(itemText(calls[0]?.id, '"result":"late"'));
        };
      };
    }
    expect(await load(600)).toBe(1);
    expect(events.some(({ kind }) => kind === 'hedge')).toBe(true);
    released();
  });

  it('starts for at most one read in twenty when all nodes are slow', async () => {
    await load(200);
    const before = { hedges: events.filter(({ kind }) => kind === 'hedge').length, requests: requests() };
    for (const node of nodes) node.delayMs = 60;
    await load(600);
    const hedges = events.filter(({ kind }) => kind === 'hedge').length - before.hedges;
    expect(hedges).toBeLessThanOrEqual(600 * 0.05 + 10);
    expect(requests() - before.requests).toBeLessThanOrEqual(600 + hedges);
  });
});

describe('a read that takes far longer than usual', () => {
  const LATE_MS = 1_500;
  const slow = () => read('eth_call', '["slow"]');
  beforeEach(() => {
    for (const node of nodes) {
      node.reply = (calls) => {
        if (!calls.some(({ params }) => params[0] === 'slow')) return undefined;
        return async (response) => {
          await sleep(LATE_MS);
          const items = calls.map((call) => itemText(call.id, '"result":"late"'));
          response.end(items.length === 1 ? items[0] : `[${items.join(',')}]`);
        };
      };
    }
  });

  const warm = async (ask: () => Promise<unknown>) => {
    for (let turn = 0; turn < 100; turn += 1) await ask();
  };

  it('is answered when a second node was asked early', async () => {
    await warm(() => upstreams.single(NETWORK, read(), patient()));
    const outcome = await upstreams.single(NETWORK, slow(), patient());
    expect(told(outcome)).toMatchObject({ kind: 'result', value: '"late"' });
  });

  it('is answered when no hedge is allowed', async () => {
    await warm(() => upstreams.single(NETWORK, read(), patient()));
    const ask = () => upstreams.single(NETWORK, slow(), patient());
    const outcomes = await Promise.all(Array.from({ length: 30 }, ask));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(30).fill('result'));
  });

  it('is answered within a batch', async () => {
    await warm(() => upstreams.batch(NETWORK, together([read(), read()]), patient()));
    const outcomes = await upstreams.batch(NETWORK, together([read(), slow()]), patient());
    expect(outcomes.map(({ kind }) => kind)).toEqual(['result', 'result']);
  });

  it('times out at the deadline when a second node was asked early', async () => {
    const urls = nodes.map(({ url }) => url);
    const hurried = openUpstreams(urls, { deadlineMs: 1_500 });
    for (const node of nodes) node.delayMs = 500;
    const ask = () => hurried.upstreams.single(NETWORK, read(), patient());
    await Promise.all(Array.from({ length: 100 }, ask));
    // The late answer of the first node would arrive after 2,000 ms.
    const outcome = await hurried.upstreams.single(NETWORK, slow(), patient());
    expect(outcome).toEqual({ kind: 'failed', reason: 'timeout', sent: true });
    await hurried.upstreams.close();
  });
});

function requests(): number {
  return nodes.reduce((sum, node) => sum + node.requests, 0);
}

describe('a transaction', () => {
  const SIGNED = '["0xsigned"]';
  const sent = () => nodes.flatMap(({ calls }) => calls.filter(({ method }) => method === 'eth_sendRawTransaction'));

  it.each(WRONGS.filter(([name]) => !name.startsWith('limits')))(
    'is sent at most once when nodes fail: one %s',
    async (_name, wrong) => {
      for (const node of nodes) wrong(node);
      const signal = AbortSignal.timeout(100_000);
      for (let turn = 1; turn <= 20; turn += 1) {
        await upstreams.single(NETWORK, write(SIGNED), signal);
        expect(sent().length).toBeLessThanOrEqual(turn);
      }
    },
  );

  it('is sent once when its node accepts it and never answers', async () => {
    const hurried = openUpstreams(
      nodes.map(({ url }) => url),
      { deadlineMs: 300 },
    );
    for (const node of nodes) node.reply = () => () => undefined;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const outcome = hurried.upstreams.single(NETWORK, write(SIGNED), patient());
    await expect.poll(() => sent().length).toBe(1);
    await vi.advanceTimersByTimeAsync(300);
    expect(await outcome).toEqual({ kind: 'failed', reason: 'timeout', sent: true });
    expect(sent()).toHaveLength(1);
    await hurried.upstreams.close();
  });

  it('is sent once when its node reports that it gave up', async () => {
    const gaveUp = 'eth_sendRawTransaction request was canceled due to enabled timeout.';
    for (const node of nodes) node.answer = () => `"error":{"code":-32016,"message":"${gaveUp}"}`;
    const outcome = await upstreams.single(NETWORK, write(SIGNED), patient());
    expect(outcome).toMatchObject({ kind: 'error' });
    expect(sent()).toHaveLength(1);
  });

  it('goes to the other node when one is unreachable or has no capacity', async () => {
    for (const refuses of [() => ({ status: 429 }), undefined]) {
      if (refuses !== undefined) nodes[0].reply = refuses;
      else await nodes[0].close();
      for (let turn = 0; turn < 5; turn += 1) {
        expect(await upstreams.single(NETWORK, write(SIGNED), patient())).toMatchObject({ kind: 'result' });
      }
    }
    nodes[0] = await startChainNode();
  });

  it('follows the previous one in the same batch', async () => {
    const items = ['1', '2', '3', '4'].map((nonce) => write(`["${nonce}"]`));
    await upstreams.batch(NETWORK, together(items), patient());
    expect(sent().map(({ params }) => params[0])).toEqual(['1', '2', '3', '4']);
  });

  it('is known if a node knows it, unknown if all nodes say so, and otherwise undecided', async () => {
    const known = () => upstreams.knowsTransaction(NETWORK, '0x1', patient());
    for (const node of nodes) node.answer = () => '"result":null';
    expect(await known()).toBe(false);
    nodes[1].answer = () => '"result":{"hash":"0x1"}';
    expect(await known()).toBe(true);
    for (const node of nodes) node.reply = () => ({ status: 500 });
    nodes[1].reply = undefined;
    nodes[1].answer = () => '"result":null';
    expect(await known()).toBeUndefined();
  });
});

describe('a slow item of a batch', () => {
  it('does not delay the others beyond the deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const hurried = openUpstreams([nodes[0].url], { deadlineMs: 2_000, pollMs: 60_000 });
    const { upstreams: asked, events: told } = hurried;
    const ended = (kind: string) => told.filter((event) => event.kind === kind).length;
    // After this nobody looks at the heights for a while.
    await asked.single(NETWORK, read(), patient());
    await vi.advanceTimersByTimeAsync(1);
    await expect.poll(() => ended('node')).toBe(1);
    const before = ended('request');
    nodes[0].reply = (calls) => (calls.some(({ method }) => method === 'eth_slow') ? () => undefined : undefined);
    const items = Array.from({ length: 30 }, (_, at) => read(at === 17 ? 'eth_slow' : 'eth_call'));
    const answer = asked.batch(NETWORK, together(items), patient());
    // All of them late, then a part of ten, then one: meanwhile the others are answered.
    for (const [requests, answered, waitMs] of [
      [1, 0, 1_000],
      [4, 3, 500],
      [14, 13, 500],
    ] as const) {
      await expect.poll(() => [nodes[0].requests - 1, ended('request') - before]).toEqual([requests, answered]);
      await vi.advanceTimersByTimeAsync(waitMs);
    }
    const outcomes = await answer;
    expect(outcomes.filter(({ kind }) => kind === 'result')).toHaveLength(29);
    expect(outcomes[17]).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await hurried.upstreams.close();
  });
});
