/** HTTP 4xx of a node: its JSON-RPC error about the call goes to the client, because every node would return it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { type ChainNode, itemText, type NodeCall, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read, together } from './openUpstreams.ts';

const REVERT = '{"code":3,"message":"execution reverted","data":"0x08c379a0"}';
const ERROR = { kind: 'error', value: REVERT };

let nodes: [ChainNode, ChainNode];
let upstreams: RpcUpstreams;
beforeEach(async () => {
  nodes = [await startChainNode(), await startChainNode()];
  upstreams = openUpstreams(nodes.map(({ url }) => url)).upstreams;
});
afterEach(async () => {
  await upstreams.close();
  await Promise.all(nodes.map((node) => node.close()));
});

function answer(status: number, body: (calls: NodeCall[]) => string): void {
  for (const node of nodes) node.reply = (calls) => ({ status, body: body(calls) });
}
const asked = () => nodes[0].requests + nodes[1].requests;
const revertOf = (call: NodeCall | undefined) => itemText(call?.id, `"error":${REVERT}`);

describe('a JSON-RPC error with HTTP 4xx', () => {
  it.each([
    ['eth_call', 400],
    ['eth_call', 404],
    ['eth_call', 422],
    ['eth_getLogs', 400],
  ])('of %s and %i is passed on without a second node', async (method, status) => {
    answer(status, ([call]) => revertOf(call));
    expect(await upstreams.single(NETWORK, read(method), patient())).toEqual(ERROR);
    expect(asked()).toBe(1);
  });

  it('for each call of a batch is passed on', async () => {
    answer(400, (calls) => `[${calls.map(revertOf).join(',')}]`);
    const outcomes = await upstreams.batch(NETWORK, together([read(), read()]), patient());
    expect(outcomes).toEqual([ERROR, ERROR]);
    expect(asked()).toBe(1);
  });

  it('is a lack of capacity if it says so', async () => {
    answer(400, ([call]) => itemText(call?.id, '"error":{"code":-32005,"message":"limit exceeded"}'));
    const outcome = await upstreams.single(NETWORK, read(), patient());
    expect(outcome).toEqual({ kind: 'failed', reason: 'capacity', sent: false });
  });
});

describe('HTTP 4xx', () => {
  it.each([
    ['401', 401, ([call]) => revertOf(call)],
    ['403', 403, ([call]) => revertOf(call)],
    ['407', 407, ([call]) => revertOf(call)],
    ['with no JSON', 400, () => '<html>'],
    ['with nothing', 404, () => ''],
    ['with an error of another protocol', 404, () => `{"error":${REVERT}}`],
    ['with an error that is none', 400, ([call]) => itemText(call?.id, '"error":"bad request"')],
    ['with a result', 400, ([call]) => itemText(call?.id, '"result":1')],
    ['with the error of another call', 400, () => itemText(7, `"error":${REVERT}`)],
    ['with a page', 400, ([call]) => revertOf(call).padEnd(70_000)],
    ['with a list for one call', 400, ([call]) => `[${revertOf(call)}]`],
  ] as [string, number, (calls: NodeCall[]) => string][])(
    '%s is a refusal of this node only',
    async (_name, status, body) => {
      answer(status, body);
      for (const method of ['eth_call', 'eth_getLogs']) {
        const before = asked();
        const outcome = await upstreams.single(NETWORK, read(method), patient());
        expect(outcome).toEqual({ kind: 'rejected', status });
        expect(asked() - before).toBe(2);
      }
    },
  );
});
