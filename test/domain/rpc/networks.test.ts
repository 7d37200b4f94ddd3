import { describe, expect, it } from 'vitest';
import { isWriteMethod, methodsOf } from '../../../domain/rpc/methods.ts';
import { RPC_NETWORKS } from '../../../domain/rpc/networks.ts';
import { PUBLISHED_NETWORKS } from '../../fixtures/publishedNetworks.ts';

const ALL = [...RPC_NETWORKS.values()];

describe('the networks', () => {
  it('are those published (RPC-1), by slug in alphabetical order', () => {
    expect([...RPC_NETWORKS.keys()]).toEqual(PUBLISHED_NETWORKS);
    expect([...RPC_NETWORKS.keys()]).toEqual([...RPC_NETWORKS.keys()].sort());
    for (const [slug, network] of RPC_NETWORKS) expect(network.slug).toBe(slug);
  });

  it.each([
    ['solana-mainnet', 'solana', 30],
    ['zksync-sepolia', 'evm', 30],
    ['starknet-mainnet', 'starknet', 20],
    ['ethereum-mainnet', 'evm', 20],
  ])('%s is of the family %s and costs %i credits', (slug, family, baseCredits) => {
    expect(RPC_NETWORKS.get(slug)).toMatchObject({ family, baseCredits });
  });

  it.each(['', 'ethereum', 'Ethereum-Mainnet', 'constructor', '__proto__'])('do not include "%s"', (slug) => {
    expect(RPC_NETWORKS.get(slug)).toBeUndefined();
  });
});

describe('the methods of a network', () => {
  it('cost once, twice or four times the base', () => {
    for (const network of ALL) {
      const methods = methodsOf(network);
      expect(methods.size).toBeGreaterThan(20);
      for (const [name, method] of methods) {
        expect(method.name).toBe(name);
        expect([1, 2, 4].map((times) => times * network.baseCredits)).toContain(method.credits);
      }
    }
  });

  it('are the same objects for every call', () => {
    for (const network of ALL) expect(methodsOf(network)).toBe(methodsOf({ ...network }));
  });

  it('are marked as writes on every network or on none', () => {
    const methods = ALL.flatMap((network) => [...methodsOf(network).values()]);
    const writes = new Set(methods.filter(({ isWrite }) => isWrite).map(({ name }) => name));
    for (const { name, isWrite } of methods) expect([name, isWrite]).toEqual([name, writes.has(name)]);
    for (const { name } of methods) expect([name, isWriteMethod(name)]).toEqual([name, writes.has(name)]);
    expect([...writes]).toEqual(
      expect.arrayContaining(['eth_sendRawTransaction', 'sendTransaction', 'starknet_addInvokeTransaction']),
    );
  });
});
