/** Which errors mean that a node has no room now: those cost nothing and rest the node, so no client may cause one at will. */
import { expect, it } from 'vitest';
import { isRefusedForNow } from '../../../domain/rpc/refusedForNow.ts';

const TABLE: [method: string, code: number, message: string, refused: boolean][] = [
  // EIP-1474, and hosts of nodes.
  ['eth_blockNumber', -32005, 'limit exceeded', true],
  ['eth_sendRawTransaction', -32005, 'limit exceeded', true],
  ['eth_blockNumber', -32016, 'over rate limit', true],
  ['eth_blockNumber', -32016, 'Too many requests', true],
  ['eth_call', -32029, 'Too Many Requests', true],
  ['eth_call', 429, 'Your app has exceeded its compute units per second capacity', true],
  ['eth_getLogs', 429, 'slow down', true],
  ['eth_getLogs', -32005, 'daily request count exceeded, request rate limited', true],
  ['eth_getLogs', -32005, 'project ID request rate exceeded', true],
  ['starknet_blockNumber', -32000, 'too many requests', true],
  // How much was asked for: Infura, BSC, Besu (EXCEEDS_RPC_MAX_BLOCK_RANGE).
  ['eth_getLogs', -32005, 'query returned more than 10000 results. Try with this block range', false],
  ['eth_getLogs', -32005, 'limit exceeded', false],
  ['eth_getLogs', -32005, 'Requested range exceeds maximum RPC range limit', false],
  ['trace_filter', -32005, 'Requested range exceeds maximum RPC range limit', false],
  ['eth_call', -32005, 'Number of requests in batch exceeds max batch size', false],
  // Agave, rpc-client-api/src/custom_error.rs: -32005 node unhealthy, -32016 minimum context slot not reached.
  ['getBalance', -32005, 'Node is behind by 42 slots', true],
  ['getProgramAccounts', -32005, 'Node is unhealthy', true],
  ['getBalance', 429, 'Too many requests for a specific RPC call', true],
  ['getBalance', -32016, 'Minimum context slot has not been reached', false],
  ['sendTransaction', -32016, 'Minimum context slot has not been reached', false],
  // Nethermind: what a client's own call brings about, and no word about whether a transaction was taken.
  ['eth_call', -32016, 'eth_call request was canceled due to enabled timeout.', false],
  ['eth_getLogs', -32016, 'eth_getLogs request was canceled due to enabled timeout.', false],
  ['eth_sendRawTransaction', -32016, 'eth_sendRawTransaction request was canceled due to enabled timeout.', false],
  ['eth_sendRawTransaction', -32016, 'over rate limit', false],
  ['eth_call', -32016, 'execution reverted: rate limit', false],
  // Whatever the code: who gave up had begun.
  ['eth_sendRawTransaction', -32005, 'limit exceeded: the request timed out', false],
  ['eth_sendUserOperation', 429, 'context deadline exceeded', false],
  ['sendTransaction', -32005, 'cancelled', false],
  ['requestAirdrop', 429, 'timeout', false],
  ['eth_getBalance', 429, 'Too many requests: timed out in the queue', true],
  // What a contract says.
  ['eth_call', -32000, 'execution reverted: rate limit', false],
  ['eth_call', 3, 'execution reverted: rate limit', false],
  ['eth_getBalance', -32602, 'invalid argument 0: rate limit', false],
];

it.each(TABLE)('%s with %i "%s" is one: %s', (method, code, message, refused) => {
  expect(isRefusedForNow({ code, message }, method)).toBe(refused);
});

it.each([null, 'rate limit', {}, { code: '429' }, { message: 'rate limit' }])('%j is none', (error) => {
  expect(isRefusedForNow(error, 'eth_blockNumber')).toBe(false);
});
