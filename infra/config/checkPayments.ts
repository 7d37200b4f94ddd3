/** Checks the payment networks against each other, so that no payment can go to a wrong place. */
import { isIP } from 'node:net';
import { isAddress } from 'viem/utils';
import { bytesOfBase58 } from '../../domain/base58.ts';
import { familyOf, type WalletFamily } from '../../domain/wallets.ts';
import { isPublicAddress, isPublicName } from '../http/publicAddress.ts';
import { problemLine } from './problems.ts';
import type { ConfigurationFile } from './schema/file.ts';
import { isTestNetwork } from './testNetworks.ts';
import { isOnThisMachine, reachesPrivate, rpcUrlsOf } from './x402.ts';

export type PaymentEntry = ConfigurationFile['x402']['networks'][number];

/** Lines of the form `path: found …, allowed: …`. */
export function checkPayments(entries: readonly PaymentEntry[]): string[] {
  return [...checkEntries(entries), ...checkMix(entries)];
}

/** Money of a test network is worthless, and would buy the same as real money. */
function checkMix(entries: readonly PaymentEntry[]): string[] {
  const real = entries.find(({ network }) => familyOf(network) !== undefined && !isTestNetwork(network));
  const place = entries.findIndex(({ network }) => isTestNetwork(network));
  if (real === undefined || place === -1) return [];
  const found = `the test network ${JSON.stringify(entries[place]?.network)} beside ${JSON.stringify(real.network)}`;
  return [problemLine(['x402', 'networks', place, 'network'], found, 'either real networks or test networks')];
}

function checkEntries(entries: readonly PaymentEntry[]): string[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const at = (...path: (string | number)[]) => ['x402', 'networks', index, ...path];
    const earlier = first.get(entry.network);
    first.set(entry.network, earlier ?? index);
    if (earlier !== undefined) {
      const found = `${JSON.stringify(entry.network)}, which x402.networks[${earlier}] has already`;
      return [problemLine(at('network'), found, 'each network once')];
    }
    const family = familyOf(entry.network);
    if (family === undefined) {
      const allowed = '"eip155:" and a chain id, or "solana:" and a genesis hash of 32 characters';
      return [problemLine(at('network'), JSON.stringify(entry.network), allowed)];
    }
    return [
      ...checkAccounts(entry, family, at),
      ...checkNodes(entry, at),
      ...checkSettling(entry, at),
      ...checkReach(entry, at),
      ...checkConfirmations(entry, at),
    ];
  });
}

type PathOf = (...path: (string | number)[]) => (string | number)[];

const FORMS: Record<WalletFamily, string> = {
  evm: 'an address of 0x and 40 hex digits that is not zero, with a right checksum where its case is mixed',
  solana: 'a base58 address of 32 bytes that is not the system program',
};

function checkAccounts(entry: PaymentEntry, family: WalletFamily, at: PathOf): string[] {
  const bad = (['asset', 'payTo'] as const).filter((field) => !isAccount(entry[field], family));
  if (bad.length > 0) {
    return bad.map((field) => problemLine(at(field), JSON.stringify(entry[field]), FORMS[family]));
  }
  const isSame =
    family === 'evm' ? entry.asset.toLowerCase() === entry.payTo.toLowerCase() : entry.asset === entry.payTo;
  return isSame ? [problemLine(at('payTo'), 'the address of the token', 'the address of who is paid')] : [];
}

function isAccount(text: string, family: WalletFamily): boolean {
  if (family === 'evm') return isAddress(text, { strict: true }) && !/^0x0*$/.test(text);
  return bytesOfBase58(text, 32) !== undefined && !/^1*$/.test(text);
}

function checkNodes(entry: PaymentEntry, at: PathOf): string[] {
  const urls = rpcUrlsOf(entry);
  if (urls.length === 0) {
    return [problemLine(at('rpcUrls'), 'nothing', 'the address of at least one node of the network')];
  }
  const unfit = urls.flatMap((url, place) => checkKey(url, entry.rpcUrls?.[place], at('rpcUrls', place)));
  if (unfit.length > 0) return unfit;
  const normal = urls.map((url) => new URL(url).href);
  // A node with two entries would confirm itself.
  return normal.flatMap((url, place) =>
    normal.indexOf(url) === place
      ? []
      : [problemLine(at('rpcUrls', place), 'the address of a node that is listed already', 'each node once')],
  );
}

/** An address with `{key}` needs the variable of the key, and the reverse. */
function checkKey(url: string, node: string | object | undefined, path: (string | number)[]): string[] {
  const hasPlace = /\{key\}|%7Bkey%7D/i.test(url);
  if (hasPlace === (typeof node === 'object')) return [];
  return hasPlace
    ? [problemLine(path, 'a URL with {key} and no apiKeyEnv', 'apiKeyEnv beside it, or no {key} in it')]
    : [problemLine(path, 'a URL without {key} beside apiKeyEnv', '{key} in it, where the key belongs')];
}

function checkSettling({ facilitatorUrl, feePayerKeyEnv }: PaymentEntry, at: PathOf): string[] {
  if ((facilitatorUrl === undefined) !== (feePayerKeyEnv === undefined)) return [];
  const allowed = 'either "facilitatorUrl", or "feePayerKeyEnv" to settle without a facilitator';
  return [problemLine(at(), facilitatorUrl === undefined ? 'neither' : 'both', allowed)];
}

function checkReach(entry: PaymentEntry, at: PathOf): string[] {
  if (reachesPrivate(entry)) return [];
  const named = [
    ...(entry.rpcUrl === undefined ? [] : [{ url: entry.rpcUrl, path: at('rpcUrl') }]),
    ...(entry.rpcUrls === undefined ? [] : rpcUrlsOf(entry)).map((url, place) => ({
      ...{ url, path: at('rpcUrls', place) },
    })),
    ...(entry.facilitatorUrl === undefined ? [] : [{ url: entry.facilitatorUrl, path: at('facilitatorUrl') }]),
  ];
  return named
    .filter(({ url }) => isPrivate(url))
    .map(({ path }) =>
      problemLine(path, 'an address on a private network', 'that only with "allowPrivateNetwork": true'),
    );
}

function isPrivate(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? !isPublicName(host) : !isPublicAddress(host);
}

function checkConfirmations(entry: PaymentEntry, at: PathOf): string[] {
  if (entry.confirmations !== 0 || isTestNetwork(entry.network) || isLocal(entry)) return [];
  const allowed = 'at least 1: none is enough on a test network and on a chain of this machine only';
  return [problemLine(at('confirmations'), '0', allowed)];
}

function isLocal(entry: PaymentEntry): boolean {
  return rpcUrlsOf(entry).every((url) => isPrivate(url) || isOnThisMachine(url));
}
