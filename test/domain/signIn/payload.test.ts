/** Each field of a sign-in: presence, type, and the field that names its chain. */
import { describe, expect, test } from 'vitest';
import { networkOfPayload, networkOfText, readPayload } from '../../../domain/signIn/payload.ts';
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import * as samples from './samples.ts';
import { encode, type Sent, SOLANA_GENESIS } from './samples.ts';

function codeOf(sent: Sent): string | undefined {
  try {
    readPayload(encode(sent));
    return undefined;
  } catch (error) {
    if (error instanceof SignInRefused) return error.code.replace('X402_SIGN_IN_', '');
    throw error;
  }
}

describe('the form of fields only', () => {
  test.each<[string, Sent, string]>([
    ['no address', { address: undefined }, 'INVALID_PAYLOAD'],
    ['an address that is no text', { address: 7 }, 'INVALID_PAYLOAD'],
    ['no signature', { signature: '' }, 'INVALID_PAYLOAD'],
    ['no domain', { domain: null }, 'INVALID_PAYLOAD'],
    ['no URI', { uri: undefined }, 'INVALID_PAYLOAD'],
    ['no time of issue', { issuedAt: undefined }, 'INVALID_PAYLOAD'],
    ['no chain', { chainId: undefined }, 'INVALID_PAYLOAD'],
    ['a chain that is a number', { chainId: 8453 }, 'INVALID_CHAIN_ID'],
    ['a chain without its family', { chainId: '8453' }, 'INVALID_CHAIN_ID'],
    ['a chain of another family', { chainId: 'bip122:000000000019d6689c085ae165831e93' }, 'INVALID_CHAIN_ID'],
    ['no nonce', { nonce: undefined }, 'MISSING_NONCE'],
    ['an empty nonce', { nonce: '' }, 'MISSING_NONCE'],
    ['a nonce that is no text', { nonce: 12_345_678 }, 'INVALID_PAYLOAD'],
    ['a short nonce', { nonce: '1234567' }, 'INVALID_MESSAGE'],
    ['another version', { version: '2' }, 'INVALID_MESSAGE'],
    ['a version that is a number', { version: 1 }, 'INVALID_PAYLOAD'],
    ['a statement of two lines', { statement: 'one\ntwo' }, 'INVALID_MESSAGE'],
    ['a statement that is no text', { statement: ['one'] }, 'INVALID_PAYLOAD'],
    ['a time that is none', { issuedAt: 'today' }, 'INVALID_MESSAGE'],
    ['an end that is a number', { expirationTime: 1_772_366_400 }, 'INVALID_PAYLOAD'],
    ['resources that are one text', { resources: 'https://api.example.com' }, 'INVALID_PAYLOAD'],
    ['resources that are no texts', { resources: [1] }, 'INVALID_PAYLOAD'],
    ['a resource that is no URI', { resources: ['here'] }, 'INVALID_MESSAGE'],
    ['33 resources', { resources: Array(33).fill('x:y') }, 'INVALID_MESSAGE'],
    ['another type', { type: 'secp256r1' }, 'INVALID_PAYLOAD'],
    ['another scheme', { signatureScheme: 'eip712' }, 'INVALID_PAYLOAD'],
    ['a timestamp that is text', { timestamp: '1772366400000' }, 'INVALID_PAYLOAD'],
    ['a timestamp that is a fraction', { timestamp: 1.5 }, 'INVALID_PAYLOAD'],
    ['a timestamp before 1970', { timestamp: -1 }, 'INVALID_PAYLOAD'],
    ['a timestamp beyond whole numbers', { timestamp: 2 ** 53 }, 'INVALID_PAYLOAD'],
    ['a message beside the fields', { message: samples.EVM_TEXT }, 'INVALID_PAYLOAD'],
  ])('is refused with %s', (_what, change, code) => {
    expect(codeOf({ ...samples.EVM_FIELDS, ...change })).toBe(code);
  });

  test.each<[string, Sent]>([
    ['without what may be left out', { statement: undefined, expirationTime: undefined, type: undefined }],
    ['without a version', { version: undefined }],
    ['with members that nobody knows', { extra: { nested: [1, 2] } }],
    ['with 32 resources', { resources: Array(32).fill('x:y') }],
    ['with the timestamp 0', { timestamp: 0 }],
  ])('is parsed %s', (_how, change) => {
    expect(codeOf({ ...samples.EVM_FIELDS, ...change })).toBeUndefined();
  });

  test.each([
    ['evm', samples.EVM_FIELDS, []],
    ['solana', samples.SOLANA_FIELDS, undefined],
  ] as const)('has a line for an empty list of resources on %s only', (family, fields, resources) => {
    const read = readPayload(encode({ ...fields, resources: [] }));
    expect(read.fields.family).toBe(family);
    expect(read.fields.resources).toEqual(resources);
  });
});

describe('the form with the text', () => {
  test.each([
    ...['domain', 'uri', 'version', 'nonce', 'issuedAt', 'statement', 'expirationTime', 'notBefore'],
    ...['requestId', 'resources'],
  ])('is refused with the field %s beside it, which could contradict it', (name) => {
    expect(codeOf({ ...samples.evmMessage(), [name]: 'x' })).toBe('INVALID_PAYLOAD');
    expect(codeOf({ ...samples.evmMessage(), [name]: null })).toBeUndefined();
  });

  test.each<[string, Sent, string]>([
    ['no address', { address: null }, 'INVALID_PAYLOAD'],
    ['no signature', { signature: undefined }, 'INVALID_PAYLOAD'],
    ['a text that is empty', { message: '' }, 'INVALID_PAYLOAD'],
    ['a text that is a list', { message: ['x'] }, 'INVALID_PAYLOAD'],
    ['a text of something else', { message: 'Pay 5 USDC' }, 'INVALID_MESSAGE'],
  ])('is refused with %s', (_what, change, code) => {
    expect(codeOf({ ...samples.evmMessage(), ...change })).toBe(code);
  });
});

describe('the chain of a sign-in', () => {
  const evm = readPayload(encode(samples.evmMessage()));
  const fieldsOnly = readPayload(encode(samples.EVM_FIELDS));

  test.each<[unknown, string | undefined, string | undefined]>([
    [8453, 'eip155:8453', undefined],
    ['8453', 'eip155:8453', undefined],
    ['eip155:8453', 'eip155:8453', 'eip155:8453'],
    [`solana:${SOLANA_GENESIS}`, `solana:${SOLANA_GENESIS}`, `solana:${SOLANA_GENESIS}`],
    [SOLANA_GENESIS, undefined, undefined],
    ['solana:mainnet', undefined, undefined],
    ['0x2105', undefined, undefined],
    ['base', undefined, undefined],
    [0, undefined, undefined],
    [-1, undefined, undefined],
    [1.5, undefined, undefined],
    [1e21, undefined, undefined],
    [null, undefined, undefined],
    [{ chain: 1 }, undefined, undefined],
  ])('named %j is %s beside a text, and %s without one', (chainId, withText, without) => {
    expect(networkOfPayload({ ...evm, chainId })).toBe(withText);
    expect(networkOfPayload({ ...fieldsOnly, chainId })).toBe(without);
  });

  test.each([
    ['evm', '8453', 'eip155:8453'],
    ['evm', undefined, 'eip155:1'],
    ['evm', '0', undefined],
    ['evm', '08453', undefined],
    ['evm', SOLANA_GENESIS, undefined],
    ['solana', SOLANA_GENESIS, `solana:${SOLANA_GENESIS}`],
    ['solana', `solana:${SOLANA_GENESIS}`, `solana:${SOLANA_GENESIS}`],
    ['solana', undefined, undefined],
    ['solana', '8453', undefined],
    ['solana', `solana:solana:${SOLANA_GENESIS}`, undefined],
  ] as const)('in a text of %s, %s, is %s', (family, chain, network) => {
    expect(networkOfText({ ...evm.fields, family, chain })).toBe(network);
  });
});
