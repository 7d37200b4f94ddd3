/** One JSON-RPC node of a chain. It is trusted only after it proved to be on the right chain. */
import { z } from 'zod';
import { createServiceHttp, type ServiceHttp } from '../../../infra/http/serviceHttp.ts';
import { parseJson } from '../../shared/textFailures.ts';

/** No usable reply: no response, another chain, or a fault of the node. */
export class NodeSilent extends Error {}

/** A JSON-RPC error. The node's message must not reach clients. */
export class NodeRefused extends NodeSilent {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export interface ChainNode {
  /** Returns the raw `result`. Throws NodeRefused, NodeSilent. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

export interface NodeSettings {
  /** CAIP-2, for the metrics. */
  network: string;
  url: string;
  allowPrivateNetwork: boolean;
  /** Time limit of one call, head and body. */
  callTimeoutMs?: number | undefined;
  /** Converts an error of the node to one of its family. */
  refine?: ((refused: NodeRefused) => Error) | undefined;
  /** Checks the node before it is trusted, above all its chain; throws NodeSilent. */
  prove(node: ChainNode): Promise<void>;
}

const CALL_TIMEOUT_MS = 5_000;
const CONNECT_MS = 3_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Repeated regularly, because another node may answer at the address later. */
const PROVEN_MS = 60_000;
const MAX_WORDS_LENGTH = 300;

const reply = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

export interface ProvenNode {
  /** Returns a proven node whose calls abort with `signal`. Throws NodeSilent. */
  open(signal: AbortSignal): Promise<ChainNode>;
  close(): Promise<void>;
}

export function createChainNode(settings: NodeSettings): ProvenNode {
  const address = new URL(settings.url);
  const http = createServiceHttp({
    name: `chain ${settings.network}`,
    baseUrl: address.origin,
    allowPrivateNetwork: settings.allowPrivateNetwork,
    timeouts: { connectMs: CONNECT_MS, firstByteMs: settings.callTimeoutMs ?? CALL_TIMEOUT_MS },
    maxReplyBytes: MAX_ANSWER_BYTES,
    keepsConnections: true,
  });
  const { refine = (refused: NodeRefused) => refused } = settings;
  const post = createSender(http, address, settings.callTimeoutMs ?? CALL_TIMEOUT_MS);
  const send = (call: RpcCall) =>
    post(call).catch((error: unknown) => {
      throw error instanceof NodeRefused ? refine(error) : error;
    });
  let provenUntilMs = 0;
  return {
    async open(signal) {
      const node: ChainNode = { call: (method, params) => send({ method, params, signal }) };
      if (Date.now() < provenUntilMs) return node;
      await settings.prove(node);
      provenUntilMs = Date.now() + PROVEN_MS;
      return node;
    },
    close: () => http.destroy(),
  };
}

interface RpcCall {
  method: string;
  params: readonly unknown[];
  signal: AbortSignal;
}

function createSender(http: ServiceHttp, address: URL, timeoutMs: number) {
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
      .then(({ body }) => body.whole(MAX_ANSWER_BYTES))
      .catch((cause: unknown) => {
        throw new NodeSilent('no answer', { cause });
      });
    return resultOf(text, id);
  };
}

function resultOf(text: Buffer, id: number): unknown {
  const parsed = reply.safeParse(parseJson(text));
  if (!parsed.success || parsed.data.id !== id) throw new NodeSilent('no JSON-RPC answer to this call');
  const { error, result } = parsed.data;
  if (error !== undefined) {
    throw new NodeRefused({ ...error, message: error.message.slice(0, MAX_WORDS_LENGTH) });
  }
  if (result === undefined) throw new NodeSilent('an answer without a result');
  return result;
}

/** Throws NodeSilent for a result of another shape. */
export function checkAnswer<Shape extends z.ZodType>(shape: Shape, answer: unknown): z.output<Shape> {
  const parsed = shape.safeParse(answer);
  if (!parsed.success) throw new NodeSilent('an answer of another shape', { cause: parsed.error });
  return parsed.data;
}
