import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RpcCache, RpcEvent, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { type ChainNode, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read, together, told } from './openUpstreams.ts';

/** Replaces Redis. */
class Memory implements RpcCache {
  readonly values = new Map<string, string>();
  failing = false;

  async get(keys: readonly string[]) {
    if (this.failing) throw new Error('gone');
    return keys.map((key) => this.values.get(key));
  }

  async set(key: string, value: string) {
    if (this.failing) throw new Error('gone');
    this.values.set(key, value);
  }
}

let node: ChainNode;
let upstreams: RpcUpstreams;
let memory: Memory;
let events: RpcEvent[];

/** Ends when so many looks at the heights, of so many nodes, are over. */
async function looked(looks: number, told = events, nodes = 1): Promise<void> {
  const seen = () => told.filter(({ kind }) => kind === 'node').length;
  const before = seen();
  await expect.poll(seen, { interval: 10 }).toBeGreaterThanOrEqual(before + looks * nodes);
}

beforeEach(async () => {
  node = await startChainNode();
  memory = new Memory();
  ({ upstreams, events } = openUpstreams([node.url], { cache: memory }));
  node.answer = ({ params }) => `"result":{"number":"${String(params[0])}","size":12345678901234567890}`;
  await upstreams.single(NETWORK, read(), patient());
  if (!events.some(({ kind }) => kind === 'node')) await looked(1);
  node.requests = 0;
});
afterEach(async () => {
  await upstreams.close();
  await node.close();
});

const block = (tag: string) => read('eth_getBlockByNumber', `["${tag}",true]`);

describe('kept final answers', () => {
  it('are fetched once, and returned unchanged to the last digit', async () => {
    const first = told(await upstreams.single(NETWORK, block('0x10'), patient()));
    const second = told(await upstreams.single(NETWORK, block('0x10'), patient()));
    expect(node.requests).toBe(1);
    expect(first).toMatchObject({ cached: false });
    expect(second).toEqual({ ...first, cached: true });
    expect(second).toMatchObject({ value: expect.stringContaining('12345678901234567890') });
  });

  it('answer some items of a batch, and only the others are fetched', async () => {
    await upstreams.batch(NETWORK, together([block('0x1'), block('0x2')]), patient());
    const items = [block('0x3'), block('0x1'), block('0x385'), block('0x2')];
    const outcomes = await upstreams.batch(NETWORK, together(items), patient());
    expect(outcomes.map((outcome) => outcome.kind === 'result' && outcome.cached)).toEqual([false, true, false, true]);
    expect(node.calls.slice(-2).map(({ params }) => params[0])).toEqual(['0x3', '0x385']);
  });

  it('are fetched again after the chain was restarted', async () => {
    await upstreams.single(NETWORK, block('0x10'), patient());
    node.genesis = '0xanother';
    node.height = 950;
    // One of them may have begun before.
    await looked(2);
    expect(await upstreams.single(NETWORK, block('0x10'), patient())).toMatchObject({ cached: false });
  });

  it('exclude what is newer than the last final block, null, or too large', async () => {
    await upstreams.single(NETWORK, block('0x385'), patient());
    node.answer = () => '"result":null';
    await upstreams.single(NETWORK, block('0x11'), patient());
    node.answer = () => `"result":"${'x'.repeat(300_000)}"`;
    await upstreams.single(NETWORK, block('0x12'), patient());
    node.answer = () => '"error":{"code":-32000,"message":"no"}';
    await upstreams.single(NETWORK, block('0x13'), patient());
    expect(memory.values.size).toBe(0);
  });

  it('exclude what is newer than the last reported final block while the node fails to report another', async () => {
    node.height = 5_000;
    node.finalized = undefined;
    await looked(2);
    // Far below the newest block, but above block 900.
    await upstreams.single(NETWORK, block('0x385'), patient());
    await upstreams.single(NETWORK, block('0x384'), patient());
    expect(memory.values.size).toBe(1);
  });

  it('exclude what only a node with an exaggerated height calls final', async () => {
    const liar = await startChainNode();
    Object.assign(liar, { height: 0xffffffff, finalized: 0xfffffffe, answer: node.answer });
    const { upstreams: both, events: told } = openUpstreams([liar.url, node.url], { cache: memory });
    try {
      await both.single(NETWORK, read(), patient());
      await looked(2, told, 2);
      // Above block 900, the newest that the other node calls final.
      await both.single(NETWORK, block('0x385'), patient());
      expect(memory.values.size).toBe(0);
      await both.single(NETWORK, block('0x10'), patient());
      expect(memory.values.size).toBe(1);
    } finally {
      await both.close();
      await liar.close();
    }
  });

  it("exclude blocks above the node's height, whatever it calls final", async () => {
    node.finalized = 5_000;
    await looked(2);
    await upstreams.single(NETWORK, block('0x7d0'), patient());
    expect(memory.values.size).toBe(0);
  });

  it('are read from the node when the cache fails', async () => {
    memory.failing = true;
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await upstreams.single(NETWORK, block('0x10'), patient())).toMatchObject({ cached: false });
    }
  });
});
