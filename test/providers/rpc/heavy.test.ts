/** Heavy reads take as long as they take; a node that says nothing at all does not hold them up while another is there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RpcEvent, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { type ChainNode, itemText, type Respond, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read, together, told } from './openUpstreams.ts';

const DEADLINE_MS = 3_000;
let nodes: [ChainNode, ChainNode];
let upstreams: RpcUpstreams;
let events: RpcEvent[];
beforeEach(async () => {
  nodes = [await startChainNode(), await startChainNode()];
  ({ upstreams, events } = openUpstreams(
    nodes.map(({ url }) => url),
    // The first one is asked first.
    { deadlineMs: DEADLINE_MS, random: () => 0 },
  ));
});
afterEach(async () => {
  await upstreams.close();
  await Promise.all(nodes.map((node) => node.close()));
});

const SILENCE: Respond = () => undefined;
const logs = () => upstreams.single(NETWORK, read('eth_getLogs'), patient());
const hedges = () => events.filter(({ kind }) => kind === 'hedge').length;
const answered = (node: ChainNode) => node.calls.filter(({ method }) => method === 'eth_getLogs').length;

describe('a heavy read', () => {
  it('is answered by another node when the first accepts it and never answers', async () => {
    nodes[0].reply = () => SILENCE;
    expect(told(await logs())).toMatchObject({ kind: 'result', value: '"eth_getLogs"' });
    expect(nodes.map(answered)).toEqual([1, 1]);
  });

  it('of a batch is answered by another node, too', async () => {
    nodes[0].reply = (calls) => (calls[0]?.method === 'eth_getLogs' ? SILENCE : undefined);
    const items = together([read(), read('eth_getLogs'), read('eth_getLogs')]);
    const outcomes = await upstreams.batch(NETWORK, items, patient());
    expect(outcomes.map(({ kind }) => kind)).toEqual(['result', 'result', 'result']);
  });

  it('is answered by the first node when that is the quicker one all the same', async () => {
    nodes[0].reply = (calls) => async (response) => {
      await sleep(DEADLINE_MS / 2);
      response.end(itemText(calls[0]?.id, '"result":"first"'));
    };
    nodes[1].reply = () => SILENCE;
    expect(told(await logs())).toMatchObject({ kind: 'result', value: '"first"' });
  });

  it('stays at one node whose answer has begun, however slowly it comes', async () => {
    nodes[0].reply = (calls) => async (response) => {
      response.write('{"jsonrpc":"2.0",');
      await sleep(DEADLINE_MS / 2);
      response.end(`"id":${calls[0]?.id},"result":"slow"}`);
    };
    expect(told(await logs())).toMatchObject({ kind: 'result', value: '"slow"' });
    expect([hedges(), answered(nodes[1])]).toEqual([0, 0]);
  });

  it('is handed on whole when it is large and comes from the second node', async () => {
    nodes[0].reply = () => SILENCE;
    const text = 'x'.repeat(3_000_000);
    nodes[1].answer = () => `"result":"${text}"`;
    const answer = await logs();
    if (answer.kind !== 'stream') throw new Error(`no stream: ${answer.kind}`);
    let bytes = 0;
    for await (const piece of answer.value) bytes += piece.length;
    expect(bytes).toBe(text.length + 2);
  });

  it('is asked at two nodes only seldom when all of them are silent', async () => {
    await upstreams.close();
    ({ upstreams, events } = openUpstreams(
      nodes.map(({ url }) => url),
      { deadlineMs: 300 },
    ));
    for (const node of nodes) node.reply = () => SILENCE;
    await Promise.all(Array.from({ length: 100 }, logs));
    expect(hedges()).toBeLessThanOrEqual(10 + 100 * 0.05);
  });
});
