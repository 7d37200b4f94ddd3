/** One JSON-RPC node of an EVM chain. What it says is believed only after it has shown to be on the right chain. */
import { z } from 'zod';
import { createTextHttp, type TextHttp } from '../../../infra/http/textHttp.ts';

/** No usable answer: silent, another chain, a fault of its own. */
export class NodeSilent extends Error {}

/** The node's answer to a call is that the chain refuses it. */
export class CallReverted extends Error {}

/** A JSON-RPC error that is no revert, in the node's words: never for a client. */
export class NodeRefused extends NodeSilent {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface ChainNode {
  /** The `result` as it came. Throws CallReverted, NodeRefused, NodeSilent. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

export interface NodeSettings {
  /** CAIP-2, for the metrics. */
  network: string;
  url: string;
  chainId: bigint;
  allowPrivateNetwork: boolean;
  /** Of one call, head and body. */
  callTimeoutMs?: number;
  /** What else the node must show before it is believed; throws NodeSilent. */
  prove?: ((node: ChainNode) => Promise<void>) | undefined;
}

const CALL_TIMEOUT_MS = 5_000;
const CONNECT_MS = 3_000;
const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
/** An address can change what stands behind it. */
const PROVEN_MS = 60_000;
const LONGEST_WORDS = 300;

const reply = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.number(),
  result: z.unknown(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

export interface Node {
  /** A proven node whose calls end with `signal`. Throws NodeSilent. */
  open(signal: AbortSignal): Promise<ChainNode>;
  close(): Promise<void>;
}

export function createNode(settings: NodeSettings): Node {
  const address = new URL(settings.url);
  const http = createTextHttp({
    name: `chain ${settings.network}`,
    baseUrl: address.origin,
    allowPrivateNetwork: settings.allowPrivateNetwork,
    timeouts: { connectMs: CONNECT_MS, firstByteMs: settings.callTimeoutMs ?? CALL_TIMEOUT_MS },
    maxReplyBytes: LARGEST_ANSWER_BYTES,
  });
  const send = createSender(http, address, settings.callTimeoutMs ?? CALL_TIMEOUT_MS);
  let provenUntilMs = 0;
  return {
    async open(signal) {
      const node: ChainNode = { call: (method, params) => send({ method, params, signal }) };
      if (Date.now() < provenUntilMs) return node;
      const chainId = quantity(await node.call('eth_chainId', []));
      if (chainId !== settings.chainId) throw new NodeSilent(`it is on chain ${chainId}`);
      await settings.prove?.(node);
      provenUntilMs = Date.now() + PROVEN_MS;
      return node;
    },
    close: () => http.close(),
  };
}

interface RpcCall {
  method: string;
  params: readonly unknown[];
  signal: AbortSignal;
}

function createSender(http: TextHttp, address: URL, timeoutMs: number) {
  const path = address.pathname;
  const query = Object.fromEntries(address.searchParams);
  let lastId = 0;
  return async ({ method, params, signal }: RpcCall): Promise<unknown> => {
    lastId += 1;
    const id = lastId;
    const json = { jsonrpc: '2.0', id, method, params };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const text = await http
      .post({ path, ...(address.search === '' ? {} : { query }), json, signal: inTime })
      .then(({ body }) => body.whole(LARGEST_ANSWER_BYTES))
      .catch((cause: unknown) => {
        throw new NodeSilent('no answer', { cause });
      });
    return resultOf(text, id);
  };
}

function resultOf(text: Buffer, id: number): unknown {
  const parsed = reply.safeParse(jsonOf(text));
  if (!parsed.success || parsed.data.id !== id) throw new NodeSilent('no JSON-RPC answer to this call');
  const { error, result } = parsed.data;
  if (error === undefined) {
    if (result === undefined) throw new NodeSilent('an answer without a result');
    return result;
  }
  const words = error.message.slice(0, LONGEST_WORDS);
  // 3 is what nodes answer where the revert has data; without it some say only in words what happened.
  const reverted = error.code === 3 || /revert|out ?of ?gas|gas required exceeds|invalid opcode/i.test(words);
  throw reverted ? new CallReverted(words) : new NodeRefused(error.code, words);
}

function jsonOf(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** A number as nodes write it. Throws NodeSilent for anything else. */
export function quantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw new NodeSilent('no number');
  return BigInt(value);
}

/** Bytes as nodes write them, in lower case. Throws NodeSilent for anything else. */
export function bytes(value: unknown): `0x${string}` {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new NodeSilent('no bytes');
  return `0x${value.slice(2).toLowerCase()}`;
}
