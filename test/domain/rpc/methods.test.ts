/** The whole allow-list: each method on each network, admitted or refused, with its tier and its credits. */
import { describe, expect, it } from 'vitest';
import { methodsOf, refusalOfMethod } from '../../../domain/rpc/methods.ts';
import { RPC_NETWORKS } from '../../../domain/rpc/networks.ts';
import { ADMITTED, NETWORKS, REFUSED, WRITES } from './documented.ts';

describe.each(NETWORKS)('on $slug ($family, $base credits)', ({ slug, family, base }) => {
  const network = RPC_NETWORKS.get(slug);
  if (!network) throw new Error(`no ${slug}`);
  const methods = methodsOf(network);

  it('each documented method is admitted at its price, or refused', () => {
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

  it('nothing else is admitted', () => {
    const documented = ADMITTED.filter(
      ({ of, only }) => of === family && (only === undefined || only.some((part) => slug.startsWith(part))),
    ).flatMap(({ names }) => names);
    expect([...methods.keys()].sort()).toEqual([...documented].sort());
  });

  it('what must not be done twice is known', () => {
    const writes = [...methods.values()].filter(({ isWrite }) => isWrite).map(({ name }) => name);
    expect(writes.filter((name) => !WRITES.includes(name))).toEqual([]);
    expect(WRITES.filter((name) => methods.has(name) && !writes.includes(name))).toEqual([]);
  });

  it('what is refused by name is refused', () => {
    const admitted = Object.values(REFUSED).flatMap((names) => names.filter((name) => methods.has(name)));
    expect(admitted).toEqual([]);
  });
});

it('the networks are those of the documentation, in the order of the alphabet', () => {
  expect([...RPC_NETWORKS.keys()]).toEqual(NETWORKS.map(({ slug }) => slug));
  expect(NETWORKS.length).toBe(27);
});

it.each(Object.entries(REFUSED))('the reason for each of these is %s', (reason, names) => {
  expect(names.map((name) => `${name} ${refusalOfMethod(name)}`)).toEqual(names.map((name) => `${name} ${reason}`));
});

it('a method is known by exactly its spelling', () => {
  const known = RPC_NETWORKS.get('base-mainnet');
  const methods = known ? methodsOf(known) : new Map();
  const bent = ['ETH_CALL', 'eth_Call', ' eth_call', 'eth_call ', 'eth_call\0', 'eth_call\u200b', 'ｅth_call'];
  expect(bent.filter((name) => methods.has(name))).toEqual([]);
});
