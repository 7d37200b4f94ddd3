import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { type ChainNode, itemText, type NodeCall, type Reply, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read, together, told, write } from './openUpstreams.ts';

const BROKEN = { kind: 'failed', reason: 'broken', sent: true };
const CAPACITY = { kind: 'failed', reason: 'capacity', sent: false };
const TOO_LARGE = { kind: 'failed', reason: 'too_large', sent: true };
const OK = { kind: 'result', value: '1', cached: false };

function id(calls: NodeCall[], at = 0): number {
  return calls[at]?.id as number;
}

const DEADLINE_MS = 60_000;

let node: ChainNode;
let upstreams: RpcUpstreams;
beforeEach(async () => {
  node = await startChainNode();
  upstreams = openUpstreams([node.url], { deadlineMs: DEADLINE_MS }).upstreams;
});
/** Passes the deadline of an answer that never comes, once the node has the request. */
async function passDeadline(): Promise<void> {
  await expect.poll(() => node.requests).toBe(1);
  await vi.advanceTimersByTimeAsync(DEADLINE_MS);
}
afterEach(async () => {
  vi.useRealTimers();
  await upstreams.close();
  await node.close();
});

function endless(piece: Buffer, headers: Record<string, string> = {}): Reply {
  return async (response) => {
    response.writeHead(200, headers);
    while (!response.destroyed) {
      if (response.write(piece)) await new Promise(setImmediate);
      else await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    }
  };
}

const BOMB = gzipSync(Buffer.alloc(100_000_000, ' '));

type Shape = [name: string, reply: (calls: NodeCall[]) => Reply, expected: object];
const item = (number: unknown, member: string) => itemText(number, member);

const SINGLES: Shape[] = [
  ['a result', (calls) => item(id(calls), '"result":1'), OK],
  [
    'a result with every digit',
    (calls) => item(id(calls), '"result":12345678901234567890.10'),
    { kind: 'result', value: '12345678901234567890.10' },
  ],
  ['null, which is a result', (calls) => item(id(calls), '"result":null'), { kind: 'result', value: 'null' }],
  [
    'an error',
    (calls) => item(id(calls), '"error":{"code":3,"message":"execution reverted"}'),
    { kind: 'error', value: '{"code":3,"message":"execution reverted"}' },
  ],
  ['an error without the id', () => item(null, '"error":{"code":-32600,"message":"no"}'), { kind: 'error' }],
  ['a result and a null error', (calls) => item(id(calls), '"result":1,"error":null'), OK],
  ['both', (calls) => item(id(calls), '"result":1,"error":{"code":1,"message":""}'), { kind: 'mismatched' }],
  ['neither', (calls) => item(id(calls), '"x":1'), { kind: 'mismatched' }],
  ['two results', (calls) => item(id(calls), '"result":1,"result":2'), { kind: 'mismatched' }],
  ['another id', (calls) => item(id(calls) + 7, '"result":1'), { kind: 'mismatched' }],
  ['its id as text', (calls) => item(String(id(calls)), '"result":1'), { kind: 'mismatched' }],
  ['an error that is none', (calls) => item(id(calls), '"error":"no"'), { kind: 'mismatched' }],
  [
    'an error of 100 kB',
    (calls) => item(id(calls), `"error":{"code":1,"message":"${'x'.repeat(100_000)}"}`),
    { kind: 'mismatched' },
  ],
  ['an error without a code', (calls) => item(id(calls), '"error":{"message":"no"}'), { kind: 'mismatched' }],
  ['an error without words', (calls) => item(id(calls), '"error":{"code":1}'), { kind: 'mismatched' }],
  ['a list for an object', (calls) => `[${item(id(calls), '"result":1')}]`, BROKEN],
  ['HTML', () => ({ status: 200, body: '<html>hello</html>', headers: { 'content-type': 'text/html' } }), BROKEN],
  ['half of JSON', (calls) => item(id(calls), '"result":[1').slice(0, -1), BROKEN],
  ['more than one value', (calls) => `${item(id(calls), '"result":1')}{}`, BROKEN],
  ['nothing', () => '', BROKEN],
  ['no connection left', () => (response) => void response.destroy(), BROKEN],
  ['a redirect', () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } }), BROKEN],
  ['400', () => ({ status: 400, body: '{}' }), { kind: 'rejected', status: 400 }],
  ['404', () => ({ status: 404 }), { kind: 'rejected', status: 404 }],
  ['402', () => ({ status: 402 }), CAPACITY],
  ['429', () => ({ status: 429, headers: { 'retry-after': '2' } }), CAPACITY],
  ['500', () => ({ status: 500, body: 'x' }), BROKEN],
  ['503', () => ({ status: 503 }), { kind: 'failed', reason: 'capacity' }],
  ['a limit in an error', (calls) => item(id(calls), '"error":{"code":-32005,"message":"limit exceeded"}'), CAPACITY],
  [
    'a revert that speaks of limits',
    (calls) => item(id(calls), '"error":{"code":-32000,"message":"execution reverted: rate limit"}'),
    { kind: 'error' },
  ],
  ['silence', () => () => undefined, { kind: 'failed', reason: 'timeout', sent: true }],
  ['without end', () => endless(Buffer.alloc(65_536, ' ')), TOO_LARGE],
  [
    'a bomb of gzip',
    () => (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB),
    TOO_LARGE,
  ],
  [
    'gzip that nobody asked for',
    (calls) => (response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(item(id(calls), '"result":1'))),
    OK,
  ],
  [
    'br that nobody asked for',
    (calls) => (response) =>
      void response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync(item(id(calls), '"result":1'))),
    OK,
  ],
  ['an unknown encoding', () => ({ status: 200, body: 'x', headers: { 'content-encoding': 'zstd' } }), BROKEN],
];

describe('a single call', () => {
  it.each(SINGLES)('has the right outcome when the node answers %s', async (name, reply, expected) => {
    if (name === 'silence') vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    node.reply = (calls) => reply(calls);
    const outcome = upstreams.single(NETWORK, read(), patient());
    if (name === 'silence') await passDeadline();
    expect(told(await outcome)).toMatchObject(expected);
  });
});

const A = '"result":"a"';
const BATCHES: [name: string, reply: (calls: NodeCall[]) => Reply, expected: (object | string)[]][] = [
  [
    'in another order',
    (calls) =>
      `[${item(id(calls, 2), '"result":2')},${item(id(calls, 0), '"result":0')},${item(id(calls, 1), '"result":1')}]`,
    ['0', '1', '2'],
  ],
  ['too few', (calls) => `[${item(id(calls, 2), A)},${item(id(calls, 0), A)}]`, ['"a"', BROKEN, '"a"']],
  [
    'too many',
    (calls) =>
      `[${calls.map((_, at) => item(id(calls, at), A)).join(',')},${item(99, A)},${item(id(calls), '"result":"b"')}]`,
    ['"a"', '"a"', '"a"'],
  ],
  [
    'one under another id',
    (calls) => `[${item(id(calls, 0), A)},${item(5, A)},${item(id(calls, 2), A)}]`,
    ['"a"', { kind: 'mismatched' }, '"a"'],
  ],
  ['items that are none', (calls) => `[null,1,${item(id(calls, 2), A)}]`, [BROKEN, BROKEN, '"a"']],
  [
    'an error for all of it',
    () => item(null, '"error":{"code":-32600,"message":"no batches"}'),
    [BROKEN, BROKEN, BROKEN],
  ],
  [
    'a limit for all of it',
    () => item(null, '"error":{"code":-32005,"message":"limit"}'),
    [CAPACITY, CAPACITY, CAPACITY],
  ],
  [
    'a limit for one',
    (calls) =>
      `[${item(id(calls, 0), A)},${item(id(calls, 1), '"error":{"code":429,"message":"slow down"}')},${item(id(calls, 2), A)}]`,
    ['"a"', CAPACITY, '"a"'],
  ],
  ['a million numbers', (calls) => `[${'1,'.repeat(1_000_000)}${item(id(calls), A)}]`, [BROKEN, BROKEN, BROKEN]],
  ['lists in lists', (calls) => `[[${item(id(calls), A)}]]`, [BROKEN, BROKEN, BROKEN]],
];

describe('a batch', () => {
  it.each(BATCHES)('has the right outcome for each item when the node answers %s', async (_name, reply, expected) => {
    // A second request for the missing items fails.
    node.reply = (calls) => (node.requests === 1 ? reply(calls) : { status: 502 });
    const outcomes = await upstreams.batch(NETWORK, together([read(), read(), read()]), patient());
    for (const [at, wanted] of expected.entries()) {
      expect(told(outcomes[at])).toMatchObject(typeof wanted === 'string' ? { kind: 'result', value: wanted } : wanted);
    }
  });
});

describe('a transaction', () => {
  it.each([
    ['silence', () => () => undefined, true],
    ['a broken connection', () => (response) => void response.destroy(), true],
    ['500', () => ({ status: 500 }), true],
    ['HTML', () => '<html>', true],
    ['429', () => ({ status: 429 }), false],
    ['a limit', (calls: NodeCall[]) => item(id(calls), '"error":{"code":-32005,"message":"limit"}'), false],
  ] as [string, (calls: NodeCall[]) => Reply, boolean][])(
    'is sent once, and reported as sent or not, after %s',
    async (name, reply, sent) => {
      if (name === 'silence') vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
      node.reply = (calls) => reply(calls);
      const outcome = upstreams.single(NETWORK, write(), patient());
      if (name === 'silence') await passDeadline();
      expect(await outcome).toMatchObject({ kind: 'failed', sent });
      expect(node.requests).toBe(1);
    },
  );

  it('is reported as not sent when the node is unreachable', async () => {
    await node.close();
    expect(await upstreams.single(NETWORK, write(), patient())).toMatchObject({
      kind: 'failed',
      sent: false,
    });
    node = await startChainNode();
  });
});
