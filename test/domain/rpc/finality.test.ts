import { describe, expect, it } from 'vitest';
import { keepingOf, mayBeKept } from '../../../domain/rpc/finality.ts';
import type { RpcFamily } from '../../../domain/rpc/networks.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const FINAL = 900;

/** Family, method, params, answer, and whether the answer is kept while block 900 is the last final block. */
const TABLE: [RpcFamily, string, unknown[], unknown, boolean][] = [
  ['evm', 'eth_chainId', [], '0x1', true],
  ['evm', 'net_version', [], '1', true],
  ['evm', 'eth_blockNumber', [], '0x1', false],
  ['evm', 'eth_gasPrice', [], '0x1', false],
  ['evm', 'eth_getBlockByNumber', ['0x384', false], { number: '0x384' }, true],
  ['evm', 'eth_getBlockByNumber', ['0x385', false], { number: '0x385' }, false],
  ...['latest', 'pending', 'safe', 'finalized', 'earliest', '', 'Latest', '900', 900, null].map(
    (tag): [RpcFamily, string, unknown[], unknown, boolean] => [
      'evm',
      'eth_getBlockByNumber',
      [tag, false],
      { number: '0x1' },
      false,
    ],
  ),
  ['evm', 'eth_getBlockByNumber', ['0x1', false], null, false],
  ['evm', 'eth_getBlockByNumber', [], { number: '0x1' }, false],
  ['evm', 'eth_getBlockByHash', [HASH, false], { number: '0x384' }, true],
  ['evm', 'eth_getBlockByHash', [HASH, false], { number: '0x385' }, false],
  ['evm', 'eth_getBlockByHash', [HASH, false], null, false],
  ['evm', 'eth_getTransactionByHash', [HASH], { blockNumber: '0x384' }, true],
  ['evm', 'eth_getTransactionByHash', [HASH], { blockNumber: null }, false],
  ['evm', 'eth_getTransactionByHash', [HASH], { blockNumber: '0x385' }, false],
  ['evm', 'eth_getTransactionReceipt', [HASH], { blockNumber: '0x1' }, true],
  ['evm', 'eth_getTransactionReceipt', [HASH], null, false],
  ['evm', 'eth_getCode', ['0xa', '0x10'], '0x', true],
  ['evm', 'eth_getCode', ['0xa', 'latest'], '0x', false],
  ['evm', 'eth_getCode', ['0xa'], '0x', false],
  ['evm', 'eth_getBalance', ['0xa', { blockHash: HASH }], '0x1', true],
  ['evm', 'eth_getBalance', ['0xa', { blockHash: HASH, requireCanonical: false }], '0x1', true],
  ['evm', 'eth_getBalance', ['0xa', { blockHash: HASH, requireCanonical: true }], '0x1', false],
  ['evm', 'eth_getBalance', ['0xa', { blockNumber: '0x10' }], '0x1', true],
  ['evm', 'eth_getBalance', ['0xa', { blockNumber: 'latest' }], '0x1', false],
  ['evm', 'eth_getStorageAt', ['0xa', '0x0', '0x10'], '0x1', true],
  ['evm', 'eth_getStorageAt', ['0xa', '0x10', 'latest'], '0x1', false],
  ['evm', 'eth_call', [{}, '0x10'], '0x1', false],
  ['evm', 'eth_sendRawTransaction', ['0x1'], '0x1', false],
  ['evm', 'constructor', ['0x10'], '0x1', false],
  ['evm', 'getBlock', [1], {}, false],
  ['solana', 'getGenesisHash', [], 'x', true],
  ['solana', 'getBlock', [1], {}, true],
  ['solana', 'getBlock', [1, { commitment: 'finalized' }], {}, true],
  ['solana', 'getBlock', [1, { commitment: 'confirmed' }], {}, false],
  ['solana', 'getTransaction', ['sig', 'json'], {}, true],
  ['solana', 'getTransaction', ['sig'], null, false],
  ['solana', 'getSlot', [], 1, false],
  ['solana', 'getBalance', ['x'], 1, false],
  ['starknet', 'starknet_chainId', [], '0x1', true],
  ['starknet', 'starknet_blockNumber', [], 1, false],
  ['starknet', 'starknet_getTransactionReceipt', ['0x1'], { finality_status: 'ACCEPTED_ON_L1' }, true],
  ['starknet', 'starknet_getTransactionReceipt', ['0x1'], { finality_status: 'ACCEPTED_ON_L2' }, false],
  ['starknet', 'starknet_getBlockWithTxHashes', [{ block_number: 1 }], { status: 'ACCEPTED_ON_L1' }, true],
  ['starknet', 'starknet_getBlockWithTxHashes', ['latest'], { status: 'ACCEPTED_ON_L2' }, false],
  ['starknet', 'starknet_getBlockWithTxs', [{ block_hash: HASH }], { status: 'ACCEPTED_ON_L1' }, true],
  ...['l1_accepted', 'latest', 'pending', 'pre_confirmed', {}, null].map(
    (tag): [RpcFamily, string, unknown[], unknown, boolean] => [
      'starknet',
      'starknet_getBlockWithReceipts',
      [tag],
      { status: 'ACCEPTED_ON_L1' },
      false,
    ],
  ),
];

describe('an answer', () => {
  it.each(TABLE)('to %s %s %j of %j is kept: %s', (family, method, params, answer, kept) => {
    const keeping = keepingOf(family, method, JSON.stringify(params));
    expect(keeping !== undefined && mayBeKept(keeping, answer, FINAL)).toBe(kept);
  });

  it('about a block is not kept while no final block is known', () => {
    const keeping = keepingOf('evm', 'eth_getCode', '["0xa","0x1"]');
    expect(keeping && mayBeKept(keeping, '0x', undefined)).toBe(false);
  });
});
