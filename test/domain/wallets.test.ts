import { describe, expect, it } from 'vitest';
import {
  BASE_MAINNET,
  DEFAULT_NETWORKS,
  familyOf,
  isSameWallet,
  SOLANA_MAINNET,
  toWallet,
  type Wallet,
  walletName,
  walletNamed,
} from '../../domain/wallets.ts';

const ADDRESS = '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a';
const SOLANA = 'D2PHpNfVHjVWYdZpYe8VNfzZGCCWTo4HxqAEWT9Xgybp';

describe('the name of a wallet', () => {
  it.each<[Wallet, string]>([
    [{ family: 'evm', address: ADDRESS }, ADDRESS],
    [{ family: 'evm', address: ADDRESS, chain: BASE_MAINNET }, `${ADDRESS} eip155:8453`],
    [{ family: 'solana', address: SOLANA }, SOLANA],
  ])('of %j is parsed as the same wallet', (wallet, name) => {
    expect(walletName(wallet)).toBe(name);
    expect(walletNamed(wallet.family, name)).toEqual(wallet);
  });

  it('distinguishes a contract from a key, and from the contract of another chain', () => {
    const key: Wallet = { family: 'evm', address: ADDRESS };
    const onBase: Wallet = { ...key, chain: BASE_MAINNET };
    const onEthereum: Wallet = { ...key, chain: 'eip155:1' };
    const wallets = [key, onBase, onEthereum, { ...key, family: 'solana' as const }];
    for (const one of wallets) {
      for (const other of wallets) expect(isSameWallet(one, other)).toBe(one === other);
    }
    expect(isSameWallet(onBase, { ...onBase })).toBe(true);
  });
});

describe('an address in a path or a header', () => {
  it('of an EVM wallet has one spelling, whatever its case', () => {
    const checksummed = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
    for (const spelling of [ADDRESS, checksummed, `0x${ADDRESS.slice(2).toUpperCase()}`]) {
      expect(toWallet(spelling)).toEqual({ family: 'evm', address: ADDRESS });
    }
  });

  it('of Solana keeps its case, which identifies the wallet', () => {
    expect(toWallet(SOLANA)).toEqual({ family: 'solana', address: SOLANA });
    expect(toWallet('1'.repeat(32))).toEqual({ family: 'solana', address: '1'.repeat(32) });
  });

  it.each([
    ['nothing', ''],
    ['a prefix alone', '0x'],
    ['a digit too few', ADDRESS.slice(0, -1)],
    ['a digit too many', `${ADDRESS}0`],
    ['a letter that is no digit', `${ADDRESS.slice(0, -1)}g`],
    ['an upper-case prefix', `0X${ADDRESS.slice(2)}`],
    ['a space before it', ` ${ADDRESS}`],
    ['a line feed behind it', `${ADDRESS}\n`],
    ['a name', 'alice.eth'],
    ['31 characters of base58', SOLANA.slice(0, 31)],
    ['45 characters of base58', `${SOLANA}1`],
    ['a letter that base58 leaves out', `${SOLANA.slice(0, -1)}0`],
    ['a network with it', `eip155:8453:${ADDRESS}`],
  ])('is refused with %s', (_what, text) => {
    expect(toWallet(text)).toBeUndefined();
  });
});

describe('the family of a network', () => {
  it.each([
    [BASE_MAINNET, 'evm'],
    ['eip155:1', 'evm'],
    ['eip155:9999999999999999', 'evm'],
    [SOLANA_MAINNET, 'solana'],
    ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'solana'],
    ['eip155:0', undefined],
    ['eip155:01', undefined],
    ['eip155:', undefined],
    ['eip155:-1', undefined],
    ['eip155:1e3', undefined],
    ['eip155:99999999999999999', undefined],
    ['EIP155:1', undefined],
    ['eip155:8453\n', undefined],
    ['solana:', undefined],
    ['solana:mainnet', undefined],
    ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa', undefined],
    ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa12', undefined],
    ['bip122:000000000019d6689c085ae165831e93', undefined],
    ['base', undefined],
    ['', undefined],
  ])('of "%s" is %s', (network, family) => {
    expect(familyOf(network)).toBe(family);
  });

  it('is known for every network that wallets sign in on by default', () => {
    expect(DEFAULT_NETWORKS.map(familyOf)).toEqual(['evm', 'solana']);
  });
});
