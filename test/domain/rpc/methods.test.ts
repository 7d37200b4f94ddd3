/** The whole allow-list: each method on each network, admitted or refused, with its tier and its credits. */
import { describe, expect, it } from 'vitest';
import { methodsOf, refusalOfMethod } from '../../../domain/rpc/methods.ts';
import { RPC_NETWORKS } from '../../../domain/rpc/networks.ts';
import { ADMITTED, NETWORKS, REFUSED, WRITES } from './documented.ts';

describe.each(NETWORKS)('on $slug ($family, $base credits)', ({ slug, family, base }) => {
  const network = RPC_NETWORKS.get(slug);
  if (!network) throw new Error(`no ${slug}`);
  const methods = methodsOf(network);

  it('admits each documented method at its price, or refuses it', () => {
    const documented: string[] = [];
    const found: string[] = [];
    for (const { names, of, times, only } of ADMITTED) {
      const here = of === family && (only === undefined || only.some((part) => slug.startsWith(part)));
      for (const name of names) {
        documented.push(`${name} ${here ? base * times : 'refused'}`);
        const method = methods.get(name);
        found.push(`${name} ${method ? method.credits : 'refused'}`);
      }
    }
    expect(found).toEqual(documented);
  });

  it('admits no other method', () => {
    const documented = ADMITTED.filter(
      ({ of, only }) => of === family && (only === undefined || only.some((part) => slug.startsWith(part))),
    ).flatMap(({ names }) => names);
    expect([...methods.keys()].sort()).toEqual([...documented].sort());
  });

  it('marks the methods that must not run twice', () => {
    const writes = [...methods.values()].filter(({ isWrite }) => isWrite).map(({ name }) => name);
    expect(writes.filter((name) => !WRITES.includes(name))).toEqual([]);
    expect(WRITES.filter((name) => methods.has(name) && !writes.includes(name))).toEqual([]);
  });

  it('refuses the methods that are refused by name', () => {
    const admitted = Object.values(REFUSED).flatMap((names) => names.filter((name) => methods.has(name)));
    expect(admitted).toEqual([]);
  });
});

it('has the documented networks in alphabetical order', () => {
  expect([...RPC_NETWORKS.keys()]).toEqual(NETWORKS.map(({ slug }) => slug));
  expect(NETWORKS.length).toBe(27);
});

it.each(Object.entries(REFUSED))('gives the reason %s', (reason, names) => {
  expect(names.map((name) => `${name} ${refusalOfMethod(name)}`)).toEqual(names.map((name) => `${name} ${reason}`));
});

it('matches a method by its exact spelling', () => {
  const known = RPC_NETWORKS.get('base-mainnet');
  const methods = known ? methodsOf(known) : new Map();
  const bent = ['ETH_CALL', 'eth_Call', ' eth_call', 'eth_call ', 'eth_call\0', 'eth_call\u200b', 'ｅth_call'];
  expect(bent.filter((name) => methods.has(name))).toEqual([]);
});
