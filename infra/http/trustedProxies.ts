/**
 * Finds the client's address behind proxies of the operator. Each proxy appends the address of its caller to
 * `X-Forwarded-For`, so their entries are read from the right, and entries of the client stand further left.
 * `Forwarded` (RFC 7239) is not read: a proxy that writes one header may pass on the client's other one.
 */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

const { IPv4, IPv6 } = ipaddr;
type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** Address, and number of its significant bits. */
type Network = [Address, number];

/** Only the right end of a longer header is read. */
const MAX_CHARACTERS = 2_048;
const MAX_ENTRIES = 20;
const BITS_BEFORE_IPV4 = 96;

export interface TrustedProxies {
  /** Whether the peer of a connection is a trusted proxy. */
  trusts(address: string): boolean;
  /** The client's address; empty when its connection is gone and nobody asked before. */
  clientOf(request: Pick<IncomingMessage, 'socket' | 'headers'>): string;
}

/** `entries` as `limits.trustedProxies` has them, all of which `isNetwork`. */
export function createTrustedProxies(entries: readonly string[]): TrustedProxies {
  const networks = entries.map(parseNetwork).filter((network) => network !== undefined);
  const isTrusted = (address: Address) => networks.some((network) => isIn(address, network));

  function trusts(address: string): boolean {
    const parsed = networks.length === 0 ? undefined : parseAddress(address);
    return parsed !== undefined && isTrusted(parsed);
  }

  return {
    trusts,
    clientOf({ socket, headers }) {
      const peer = socket.remoteAddress ?? '';
      if (!trusts(peer)) return peer;
      let client = peer;
      for (const entry of fromTheRight(headers['x-forwarded-for'])) {
        const address = parseEntry(entry);
        if (!address) break;
        client = address.toString();
        if (!isTrusted(address)) break;
      }
      return client;
    },
  };
}

/** Whether it is an IP address, or a network such as "10.0.0.0/8". */
export function isNetwork(text: string): boolean {
  return parseNetwork(text) !== undefined;
}

function parseNetwork(text: string): Network | undefined {
  const address = parseAddress(text);
  if (address) return [address, address.toByteArray().length * 8];
  if (IPv4.isValidCIDRFourPartDecimal(text)) return IPv4.parseCIDR(text);
  if (!IPv6.isValidCIDR(text)) return undefined;
  const [network, bits] = IPv6.parseCIDR(text);
  if (!network.isIPv4MappedAddress() || bits < BITS_BEFORE_IPV4) return [network, bits];
  return [network.toIPv4Address(), bits - BITS_BEFORE_IPV4];
}

/** Mapped IPv4 counts as IPv4. Short, octal and hexadecimal IPv4 is invalid: readers disagree about it. */
function parseAddress(text: string): Address | undefined {
  return IPv4.isValidFourPartDecimal(text) || IPv6.isValid(text) ? ipaddr.process(text) : undefined;
}

function isIn(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** Node has joined several lines of the header already, in their order. */
function fromTheRight(header: string | string[] | undefined): string[] {
  const written = String(header ?? '');
  const entries = written.slice(-MAX_CHARACTERS).split(',');
  // A cut address may look like another one.
  if (written.length > MAX_CHARACTERS) entries.shift();
  return entries.slice(-MAX_ENTRIES).reverse();
}

const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

function parseEntry(entry: string): Address | undefined {
  const text = entry.trim();
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  return parseAddress(bracketed ?? dotted ?? text);
}
