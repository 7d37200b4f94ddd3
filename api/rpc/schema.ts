/** What the JSON-RPC routes take and give, for those who read about them: the proxy reads its bodies by itself. */
import { z } from 'zod';
import { MOST_ITEMS } from '../../domain/rpc/request.ts';

const rpcId = z.union([z.string(), z.number(), z.null()]).meta({ description: 'Returned as it was sent.' });

const rpcCall = z
  .strictObject({
    jsonrpc: z.literal('2.0').optional(),
    method: z.string(),
    params: z.array(z.unknown()).optional(),
    id: rpcId,
  })
  .meta({ id: 'JsonRpcCall' });

export const rpcBody = z.union([rpcCall, z.array(rpcCall).min(1).max(MOST_ITEMS)]);

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

export const rpcAnswer = z.union([rpcItem, z.array(rpcItem)]);

export const networksAnswer = z.strictObject({ networks: z.array(z.string()) });
