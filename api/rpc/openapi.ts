/** Description of the JSON-RPC routes with their schemas: the proxy parses its bodies by itself. */
import { z } from 'zod';
import { MAX_ITEMS } from '../../domain/rpc/request.ts';
import { answersWith, type RouteDescription } from '../http/describe.ts';
import { dryRunCost } from '../paid/dryRun.ts';

const rpcId = z.union([z.string(), z.number(), z.null()]).meta({ description: 'Returned as it was sent.' });

const rpcCall = z
  .strictObject({
    jsonrpc: z.literal('2.0').optional(),
    method: z.string(),
    params: z.array(z.unknown()).optional(),
    id: rpcId,
  })
  .meta({ id: 'JsonRpcCall' });

export const rpcBody = z.union([rpcCall, z.array(rpcCall).min(1).max(MAX_ITEMS)]);

const rpcItem = z
  .strictObject({
    jsonrpc: z.literal('2.0'),
    id: rpcId,
    result: z.unknown().optional(),
    error: z
      .looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() })
      .optional()
      .meta({ description: "The node's error, or ours for an item that no node answered." }),
  })
  .meta({ id: 'JsonRpcItem' });

const rpcAnswer = z.union([rpcItem, z.array(rpcItem)]);

const networksAnswer = z.strictObject({ networks: z.array(z.string()) });

const CALL = `One JSON-RPC 2.0 call, or a batch of at most 100 in an array; at most 1 MB. A batch with one method that is not admitted is refused as a whole, and every such method is named.

A result costs the network's credits times the method's tier (1, 2 or 4), an item with an error 5 credits, an item that no node answered nothing; a credit is 0.0000007 USD unless the operator set another price. 100 requests a minute and 10,000,000 credits in 24 hours.

With \`Idempotency-Key\` (\`[A-Za-z0-9_-]{1,255}\`) the answer is kept for 24 hours: the same body on the same network gets it again with \`Idempotent-Replayed: true\`, at no charge and without asking a node. Answers above 1 MB are not kept: then the same key is answered with 409. One that breaks off on the way is made again for the same money, four times. A transaction that may have been handed in is looked up before it is handed in again.`;

export const RPC_DESCRIPTIONS: Record<'networks' | 'call', RouteDescription> = {
  networks: {
    group: 'Blockchains',
    operationId: 'listRpcNetworks',
    summary: 'The networks that calls can go to',
    answers: answersWith(networksAnswer, 'Their names, in the order of the alphabet.'),
    example: {},
  },
  call: {
    group: 'Blockchains',
    operationId: 'callRpc',
    summary: 'Call a node of a blockchain',
    description: CALL,
    setting: '`rpc.networks.<network>`',
    params: z.object({ network: z.string().meta({ description: 'One of `GET /crypto/rpc/networks`.' }) }),
    answers: {
      200: {
        means: 'What the node answered, each item under the id that was sent, in its order.',
        bodies: [{ schema: rpcAnswer }, { schema: dryRunCost }],
        headers: {
          'X-Service-RPC-Credits': 'What was charged, over all items.',
          'X-Service-RPC-Cost-USD': 'The same in USD, with eight decimals.',
          'X-Service-RPC-Cache':
            '`hit` when all of it came from what is kept of final answers; `hit; items=0,4` for these items of a batch.',
          'Idempotent-Replayed': '`true` when it was answered before; `X-Request-ID` is the one of then.',
        },
      },
    },
    errors: [
      ...(['insufficient_balance', 'key_limit_exceeded', 'idempotency_mismatch', 'conflict'] as const),
      ...(['provider_failed', 'provider_busy'] as const),
    ],
    example: {
      params: { network: 'base-sepolia' },
      json: { jsonrpc: '2.0', method: 'eth_blockNumber', params: [], id: 1 },
    },
  },
};
