/**
 * Connector for URLs of clients, providers and nodes: it resolves the name once, checks every address, and connects to a checked one. The
 * check is at connect, which literals, names and redirects all pass (a `lookup` hook never gets literals).
 */
import { isIP, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress, isPublicName } from './publicAddress.ts';
import { DNS_DEADLINE_MS, type ResolveHost, resolveConfiguredHost, resolvePublicHost } from './resolveHost.ts';
import { TargetRefused } from './targetUrl.ts';

export interface GuardOptions {
  /** True for hosts on private networks that the operator named; `port` is the effective one. */
  isTrustedHost: (hostname: string, port: number) => boolean;
  connectTimeoutMs: number;
  /** Replaces the DNS in tests. */
  resolve?: ResolveHost;
  /** Further certificate authorities in PEM. */
  certificateAuthorities?: string | undefined;
}

/** Connects to an address of the operator's configuration, which may allow private networks. */
export interface OperatorAddress {
  allowPrivateNetwork?: boolean | undefined;
  resolve?: ResolveHost;
  certificateAuthorities?: string | undefined;
}

export function operatorConnector(
  { allowPrivateNetwork, resolve, certificateAuthorities }: OperatorAddress,
  connectTimeoutMs: number,
): buildConnector.connector {
  return guardedConnector({
    isTrustedHost: () => allowPrivateNetwork === true,
    ...{ connectTimeoutMs, certificateAuthorities },
    ...(resolve === undefined ? {} : { resolve }),
  });
}

/** Error before the connection is established: no byte of a request was sent. */
export class ConnectFailure extends Error {}

export function guardedConnector(options: GuardOptions): buildConnector.connector {
  const connect = buildConnector({
    timeout: options.connectTimeoutMs,
    allowH2: false,
    autoSelectFamily: false,
    ...(options.certificateAuthorities === undefined ? {} : { ca: options.certificateAuthorities }),
  });
  return (target, callback) => {
    checkedAddresses(options, target).then(
      (addresses) => connectInTurn(connect, { target, addresses, callback }),
      (cause) => callback(new ConnectFailure('address refused or not found', { cause }), null),
    );
  };
}

async function checkedAddresses(options: GuardOptions, target: buildConnector.Options): Promise<string[]> {
  const hostname = target.hostname.replace(/^\[|\]$/g, '');
  const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
  const trusted = options.isTrustedHost(hostname, port);
  if (!trusted && isIP(hostname) === 0 && !isPublicName(hostname)) throw new TargetRefused('not a public name');
  const resolve = options.resolve ?? (trusted ? resolveConfiguredHost : resolvePublicHost);
  const addresses = isIP(hostname) === 0 ? await inTime(resolve(hostname)) : [hostname];
  if (addresses.length === 0) throw new Error('no address');
  if (!trusted && !addresses.every(isPublicAddress)) throw new TargetRefused('not a public address');
  return oneOfEachFamily(addresses);
}

function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const expiry = setTimeout(() => reject(new Error('no DNS answer in time')), DNS_DEADLINE_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(expiry));
  });
}

/** IPv4 first: a machine without an IPv6 route should not spend its connect deadline to find out. */
function oneOfEachFamily(addresses: string[]): string[] {
  const chosen = [4, 6].map((family) => addresses.find((address) => isIP(address) === family));
  return chosen.filter((address) => address !== undefined);
}

interface Attempt {
  target: buildConnector.Options;
  addresses: string[];
  callback: buildConnector.Callback;
}

function connectInTurn(connect: buildConnector.connector, { target, addresses, callback }: Attempt): void {
  const [address = '', ...rest] = addresses;
  const named = isIP(target.hostname.replace(/^\[|\]$/g, '')) === 0;
  const servername = target.servername ?? (named ? target.hostname : undefined);
  const checked = { ...target, hostname: address, host: address, ...(servername ? { servername } : {}) };
  connect(checked, (error: Error | null, socket?: Socket | null) => {
    if (socket) callback(null, socket);
    else if (rest.length > 0) connectInTurn(connect, { target, addresses: rest, callback });
    else callback(new ConnectFailure('connection failed', { cause: error }), null);
  });
}
