/** Payment networks in one shape, whatever form the file uses. */
import type { PaymentNetworkSettings } from '../../domain/payments/networkSettings.ts';
import { DEFAULT_NETWORKS, familyOf, type WalletFamily } from '../../domain/wallets.ts';
import type { ConfigurationFile } from './schema/file.ts';

export type { PaymentNetworkSettings };

export interface X402Settings {
  /** Host names without port, in lower case; always at least that of the public address. */
  signInDomains: readonly string[];
  /** CAIP-2 networks on which wallets sign in. */
  signInNetworks: readonly string[];
  /** Empty: no payments; the payment routes answer 503. */
  networks: readonly PaymentNetworkSettings[];
}

type Entry = ConfigurationFile['x402']['networks'][number];

interface NetworkDefaults {
  confirmations: number;
  feeBudgetPerDay: number;
}

const FAMILY_DEFAULTS: Record<WalletFamily, NetworkDefaults> = {
  evm: { confirmations: 12, feeBudgetPerDay: 0.05 },
  solana: { confirmations: 32, feeBudgetPerDay: 0.2 },
};

/** Networks with deeper reorganisations than others, or with a much cheaper coin. */
const NETWORK_DEFAULTS: Readonly<Record<string, Partial<NetworkDefaults>>> = {
  'eip155:1': { feeBudgetPerDay: 0.2 },
  'eip155:56': { confirmations: 20 },
  // A reorganisation replaced 157 blocks in February 2023.
  'eip155:137': { confirmations: 192, feeBudgetPerDay: 50 },
  'eip155:43114': { feeBudgetPerDay: 5 },
};

type ReadSecret = (name: string) => string | undefined;

/** Expects a checked file (crossCheck.ts). */
export function x402Settings(file: ConfigurationFile['x402'], publicUrl: string, secret: ReadSecret): X402Settings {
  const networks = networksOf(file, secret);
  const named = file.signIn?.domains ?? [];
  return {
    signInDomains: [...new Set([new URL(publicUrl).hostname, ...named].map((domain) => domain.toLowerCase()))],
    signInNetworks: networks.length > 0 ? networks.map(({ network }) => network) : DEFAULT_NETWORKS,
    networks,
  };
}

export function networksOf(file: ConfigurationFile['x402'], secret: ReadSecret): PaymentNetworkSettings[] {
  return file.networks.map((entry) => toSettings(entry, secret));
}

/** URLs in either form, as written: without the keys that replace `{key}`. */
export function rpcUrlsOf(entry: Entry): readonly string[] {
  return nodesOf(entry).map((node) => (typeof node === 'string' ? node : node.url));
}

/** Names of the variables with the keys of nodes. */
export function nodeKeyNames(entry: Entry): string[] {
  return nodesOf(entry).flatMap((node) => (typeof node === 'string' ? [] : [node.apiKeyEnv]));
}

function nodesOf({ rpcUrl, rpcUrls }: Entry): NonNullable<Entry['rpcUrls']> {
  return rpcUrls ?? (rpcUrl === undefined ? [] : [rpcUrl]);
}

/** An explicit address of this machine needs no permission: it cannot be another. */
export function isOnThisMachine(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
}

/** Whether its services may have private addresses. */
export function reachesPrivate(entry: Entry): boolean {
  const { allowPrivateNetwork, facilitatorUrl } = entry;
  const urls = [...rpcUrlsOf(entry), ...(facilitatorUrl === undefined ? [] : [facilitatorUrl])];
  return allowPrivateNetwork ?? urls.some(isOnThisMachine);
}

function toSettings(entry: Entry, secret: ReadSecret): PaymentNetworkSettings {
  const family = familyOf(entry.network) ?? 'evm';
  const defaults = { ...FAMILY_DEFAULTS[family], ...NETWORK_DEFAULTS[entry.network] };
  return {
    network: entry.network,
    family,
    asset: family === 'evm' ? entry.asset.toLowerCase() : entry.asset,
    assetName: entry.assetName ?? 'USD Coin',
    assetVersion: entry.assetVersion ?? '2',
    payTo: family === 'evm' ? entry.payTo.toLowerCase() : entry.payTo,
    rpcUrls: nodesOf(entry).map((node) => {
      if (typeof node === 'string') return node;
      return node.url.replaceAll('{key}', encodeURIComponent(secret(node.apiKeyEnv) ?? ''));
    }),
    confirmations: entry.confirmations ?? defaults.confirmations,
    facilitatorUrl: entry.facilitatorUrl,
    feePayerKeyEnv: entry.feePayerKeyEnv,
    feeBudgetPerDay: entry.feeBudgetPerDay ?? defaults.feeBudgetPerDay,
    allowPrivateNetwork: reachesPrivate(entry),
  };
}
