/** Errors of a node without capacity. They are free and pause the node, so clients must not cause them. */
import { expect, it } from 'vitest';
import { isRefusedForNow } from '../../../domain/rpc/refusedForNow.ts';

const TABLE: [method: string, code: number, message: string, refused: boolean][] = [
  // From EIP-1474 and node hosts.
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
  // The size of the result: Infura, BSC, Besu (EXCEEDS_RPC_MAX_BLOCK_RANGE).
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
  // Nethermind: caused by the client's own call. The error does not say whether a transaction was accepted.
  ['eth_call', -32016, 'eth_call request was canceled due to enabled timeout.', false],
  ['eth_getLogs', -32016, 'eth_getLogs request was canceled due to enabled timeout.', false],
  ['eth_sendRawTransaction', -32016, 'eth_sendRawTransaction request was canceled due to enabled timeout.', false],
  ['eth_sendRawTransaction', -32016, 'over rate limit', false],
  ['eth_call', -32016, 'execution reverted: rate limit', false],
  // With any code: a node that gave up had started.
  ['eth_sendRawTransaction', -32005, 'limit exceeded: the request timed out', false],
  ['eth_sendUserOperation', 429, 'context deadline exceeded', false],
  ['sendTransaction', -32005, 'cancelled', false],
  ['requestAirdrop', 429, 'timeout', false],
  ['eth_getBalance', 429, 'Too many requests: timed out in the queue', true],
  // Text of a contract.
  ['eth_call', -32000, 'execution reverted: rate limit', false],
  ['eth_call', 3, 'execution reverted: rate limit', false],
  ['eth_getBalance', -32602, 'invalid argument 0: rate limit', false],
];

it.each(TABLE)('classifies %s with %i "%s": %s', (method, code, message, refused) => {
  expect(isRefusedForNow({ code, message }, method)).toBe(refused);
});

it.each([null, 'rate limit', {}, { code: '429' }, { message: 'rate limit' }])('ignores %j', (error) => {
  expect(isRefusedForNow(error, 'eth_blockNumber')).toBe(false);
});
