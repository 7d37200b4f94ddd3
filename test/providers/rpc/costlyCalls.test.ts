/** A client can make its calls as expensive as it likes. Late answers to them block nobody else from the nodes. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RpcTools, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { until } from '../../harness/until.ts';
import { type ChainNode, type NodeCall, type Reply, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read } from './openUpstreams.ts';

let nodes: [ChainNode, ChainNode];
let upstreams: RpcUpstreams;
/** The clock of the nodes' deadlines stands still while a call that should be answered is under way. */
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  nodes = [await startChainNode(), await startChainNode()];
});
afterEach(async () => {
  vi.useRealTimers();
  await upstreams.close();
  await Promise.all(nodes.map((node) => node.close()));
});

function open(tools: RpcTools): void {
  const urls = nodes.map(({ url }) => url);
  ({ upstreams } = openUpstreams(urls, tools));
}

function endless(reply: Reply): (calls: NodeCall[]) => Reply | undefined {
  return ([call]) => (call?.method === 'eth_call' ? reply : undefined);
}

const call = (method: string) => upstreams.single(NETWORK, read(method), patient());

describe.each([
  ['never come back', () => undefined],
  ['a gateway gives up on', { status: 504 }],
] as [string, Reply][])('calls of one client that %s', (_name, reply) => {
  it('leave the nodes usable for others', async () => {
    open({ deadlineMs: 2_000 });
    for (const node of nodes) node.reply = endless(reply);
    let running = true;
    let failed = 0;
    const greedy = async () => {
      for (; running; failed += 1) await call('eth_call');
    };
    const attack = Array.from({ length: 20 }, greedy);
    const outcomes = [];
    // Each attacker sends at least two further calls.
    while (failed < 40 || outcomes.length <= 20) {
      outcomes.push(await call('eth_getBalance'));
      await vi.advanceTimersByTimeAsync(100);
    }
    running = false;
    let left = attack.length;
    for (const each of attack) void each.then(() => (left -= 1));
    await until('the attack is over', async () => {
      await vi.advanceTimersByTimeAsync(1_000);
      return left === 0;
    });
    expect(outcomes.filter(({ kind }) => kind !== 'result')).toEqual([]);
  });
});

describe('a node with late answers to expensive calls', () => {
  /** Prefers the first node and checks it once. */
  const FIRST = { deadlineMs: 600, pollMs: 60_000, random: () => 0 };
  const askedOfFirst = async (turns: number) => {
    const before = nodes[0].requests;
    for (let turn = 0; turn < turns; turn += 1) {
      const seen = nodes[0].requests;
      let isOver = false;
      const outcome = call('eth_call').finally(() => {
        isOver = true;
      });
      await expect.poll(() => isOver || nodes[0].requests > seen, { interval: 5 }).toBe(true);
      // Half of it is for the other node.
      if (!isOver) await vi.advanceTimersByTimeAsync(FIRST.deadlineMs / 2);
      expect(await outcome).toMatchObject({ kind: 'result' });
    }
    return nodes[0].requests - before;
  };

  it('stays in use while it answers cheap calls', async () => {
    open(FIRST);
    nodes[0].reply = endless(() => undefined);
    expect(await askedOfFirst(8)).toBe(8);
  });

  it('is paused when it does not answer cheap calls either', async () => {
    open(FIRST);
    nodes[0].looksFail = true;
    nodes[0].reply = ([asked]) =>
      asked?.method === 'eth_call' ? () => undefined : (response) => void response.destroy();
    // One check, and the calls that follow it.
    expect(await askedOfFirst(8)).toBeLessThan(8);
  });
});
