import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RpcStream, RpcUpstreams } from '../../../providers/rpc/rpcUpstreams.ts';
import { type ChainNode, type NodeCall, type Respond, startChainNode } from '../../stubs/chainNode.ts';
import { NETWORK, openUpstreams, patient, read } from './openUpstreams.ts';

let node: ChainNode;
let upstreams: RpcUpstreams;
beforeEach(async () => {
  node = await startChainNode();
  upstreams = openUpstreams([node.url]).upstreams;
});
afterEach(async () => {
  await upstreams.close();
  await node.close();
});

const PIECE = Buffer.from(`${'"0123456789abcdef",'.repeat(3_000)}\n`);

/** A list of this many pieces, in an answer whose id comes last. */
function list(pieces: number, change: { id?: number; tail?: string } = {}): (calls: NodeCall[]) => Respond {
  return (calls) => async (response) => {
    response.setMaxListeners(0);
    response.write('{"jsonrpc":"2.0","result":[');
    for (let sent = 0; sent < pieces && !response.destroyed; sent += 1) {
      if (response.write(PIECE)) continue;
      await new Promise<void>((resolve) => {
        response.once('drain', resolve);
        response.once('close', resolve);
      });
    }
    response.end(`12345678901234567890]${change.tail ?? ''},"id":${change.id ?? String(calls[0]?.id)}}`);
  };
}

async function ask(): Promise<RpcStream> {
  const answer = await upstreams.single(NETWORK, read('eth_getLogs'), patient());
  if (answer.kind !== 'stream') throw new Error(`no stream: ${JSON.stringify(answer).slice(0, 200)}`);
  return answer;
}

async function drain({ value }: RpcStream): Promise<{ bytes: number; start: string; end: string; mostMb: number }> {
  let bytes = 0;
  let start = '';
  let end = '';
  let mostMb = 0;
  for await (const piece of value) {
    if (bytes === 0) start = piece.toString('utf8', 0, 3);
    bytes += piece.length;
    end = `${end}${piece.toString('utf8', Math.max(0, piece.length - 30))}`.slice(-30);
    mostMb = Math.max(mostMb, process.memoryUsage().rss / 2 ** 20);
  }
  return { bytes, start, end, mostMb };
}

describe('a large result', () => {
  it('is streamed as it arrives, and equals the result exactly', async () => {
    node.reply = list(100);
    const { bytes, start, end } = await drain(await ask());
    expect(start).toBe('["0');
    expect(end.endsWith('12345678901234567890]')).toBe(true);
    expect(bytes).toBe(100 * PIECE.length + '[12345678901234567890]'.length);
  });

  it('is cut off when its end shows that it was not a result', async () => {
    for (const change of [
      { id: 7 },
      { tail: ',"error":{"code":1,"message":"x"}' },
      { tail: ',"result":1' },
      { tail: ']' },
    ]) {
      node.reply = list(100, change);
      await expect(drain(await ask())).rejects.toThrow();
    }
  });

  it('without an end uses no memory, and ends at the cap', async () => {
    node.reply = list(Number.POSITIVE_INFINITY);
    const before = process.memoryUsage().rss / 2 ** 20;
    let most = before;
    let bytes = 0;
    const { value } = await ask();
    const reading = (async () => {
      for await (const piece of value) {
        bytes += piece.length;
        most = Math.max(most, process.memoryUsage().rss / 2 ** 20);
      }
    })();
    await expect(reading).rejects.toThrow();
    expect(bytes).toBeGreaterThan(200 * 2 ** 20);
    expect(bytes).toBeLessThan(257 * 2 ** 20);
    expect(most - before).toBeLessThan(150);
  });

  it('with the id of another call is not passed on', async () => {
    node.reply = () => (response) => {
      response.end(`{"jsonrpc":"2.0","id":999999999999,"result":[${PIECE.toString().repeat(40)}1]}`);
    };
    const answer = await upstreams.single(NETWORK, read('eth_getLogs'), patient());
    expect(answer).toEqual({ kind: 'mismatched' });
  });

  it('releases its node when nobody starts to read', async () => {
    let closed = false;
    node.reply = (calls) => async (response, request) => {
      response.once('close', () => {
        closed = true;
      });
      await list(Number.POSITIVE_INFINITY)(calls)(response, request);
    };
    const { value } = await ask();
    await value[Symbol.asyncIterator]().return?.();
    await expect.poll(() => closed).toBe(true);
  });

  it('is read no faster than its reader consumes it, and no further after the reader stops', async () => {
    let sent = 0;
    let closed = false;
    node.reply = () => async (response) => {
      response.setMaxListeners(0);
      response.once('close', () => {
        closed = true;
      });
      response.write('{"result":[');
      while (!response.destroyed) {
        sent += PIECE.length;
        if (!response.write(PIECE))
          await new Promise<void>((resolve) => void response.once('drain', resolve).once('close', resolve));
      }
    };
    const { value } = await ask();
    for await (const _piece of value) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(sent).toBeLessThan(32 * 2 ** 20);
      break;
    }
    await expect.poll(() => closed).toBe(true);
  });
});
