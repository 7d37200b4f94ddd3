/** Heavy reads have no short timeout. A node that sends nothing does not delay them while another is available. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RpcEvent, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { StreamedAnswer } from '../../../providers/rpc/streamedAnswer.ts';
import { type ChainNode, itemText, type Respond, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read, together, told } from './openUpstreams.ts';

const DEADLINE_MS = 3_000;
/** After so long without a word another node is asked. */
const SILENT_MS = DEADLINE_MS / 3;
let nodes: [ChainNode, ChainNode];
let upstreams: RpcUpstreams;
let events: RpcEvent[];
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  nodes = [await startChainNode(), await startChainNode()];
  ({ upstreams, events } = openUpstreams(
    nodes.map(({ url }) => url),
    // Prefers the first node.
    { deadlineMs: DEADLINE_MS, random: () => 0 },
  ));
});
afterEach(async () => {
  vi.useRealTimers();
  await upstreams.close();
  await Promise.all(nodes.map((node) => node.close()));
});

const SILENCE: Respond = () => undefined;
const logs = () => upstreams.single(NETWORK, read('eth_getLogs'), patient());
const hedges = () => events.filter(({ kind }) => kind === 'hedge').length;
const answered = (node: ChainNode) => node.calls.filter(({ method }) => method === 'eth_getLogs').length;

/** Passes the time until another node is asked, once the first has so many of the calls. */
async function passSilence(calls = 1): Promise<void> {
  await expect.poll(() => answered(nodes[0])).toBe(calls);
  await vi.advanceTimersByTimeAsync(SILENT_MS);
}

describe('a heavy read', () => {
  it('is answered by another node when the first accepts it and never answers', async () => {
    nodes[0].reply = () => SILENCE;
    const answer = logs();
    await passSilence();
    expect(told(await answer)).toMatchObject({ kind: 'result', value: '"eth_getLogs"' });
    expect(nodes.map(answered)).toEqual([1, 1]);
  });

  it('in a batch is answered by another node too', async () => {
    nodes[0].reply = (calls) => (calls[0]?.method === 'eth_getLogs' ? SILENCE : undefined);
    const items = together([read(), read('eth_getLogs'), read('eth_getLogs')]);
    const answer = upstreams.batch(NETWORK, items, patient());
    await passSilence(2);
    const outcomes = await answer;
    expect(outcomes.map(({ kind }) => kind)).toEqual(['result', 'result', 'result']);
  });

  it('is answered by the first node if that is faster after all', async () => {
    let finish: () => unknown = () => undefined;
    nodes[0].reply = (calls) => (response) => {
      finish = () => response.end(itemText(calls[0]?.id, '"result":"first"'));
    };
    nodes[1].reply = () => SILENCE;
    const answer = logs();
    await passSilence();
    await expect.poll(() => answered(nodes[1])).toBe(1);
    finish();
    expect(told(await answer)).toMatchObject({ kind: 'result', value: '"first"' });
  });

  it('stays at a node whose answer has begun, however slowly it arrives', async () => {
    const begins = vi.spyOn(StreamedAnswer.prototype, 'begins');
    let finish: () => unknown = () => undefined;
    nodes[0].reply = (calls) => (response) => {
      response.write('{"jsonrpc":"2.0",');
      finish = () => response.end(`"id":${calls[0]?.id},"result":"slow"}`);
    };
    const answer = logs();
    await expect.poll(() => begins.mock.calls.length).toBe(1);
    begins.mockRestore();
    await vi.advanceTimersByTimeAsync(DEADLINE_MS / 2);
    finish();
    expect(told(await answer)).toMatchObject({ kind: 'result', value: '"slow"' });
    expect([hedges(), answered(nodes[1])]).toEqual([0, 0]);
  });

  it('is passed on whole when it is large and comes from the second node', async () => {
    nodes[0].reply = () => SILENCE;
    const text = 'x'.repeat(3_000_000);
    nodes[1].answer = () => `"result":"${text}"`;
    const asked = logs();
    await passSilence();
    const answer = await asked;
    if (answer.kind !== 'stream') throw new Error(`no stream: ${answer.kind}`);
    let bytes = 0;
    for await (const piece of answer.value) bytes += piece.length;
    expect(bytes).toBe(text.length + 2);
  });

  it('goes to two nodes only rarely when all nodes are silent', async () => {
    await upstreams.close();
    ({ upstreams, events } = openUpstreams(
      nodes.map(({ url }) => url),
      { deadlineMs: 300 },
    ));
    for (const node of nodes) node.reply = () => SILENCE;
    const outcomes = Promise.all(Array.from({ length: 100 }, logs));
    await expect.poll(() => answered(nodes[0]) + answered(nodes[1])).toBeGreaterThanOrEqual(100);
    await vi.advanceTimersByTimeAsync(300);
    await outcomes;
    expect(hedges()).toBeLessThanOrEqual(10 + 100 * 0.05);
  });
});
