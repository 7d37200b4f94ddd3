/**
 * Decides which addresses a client's URL may reach (FETCH-2). It is an allowlist: every address that is not a public
 * unicast address is refused. IPv6 forms that embed an IPv4 address are not decoded, and unassigned IPv6 ranges are
 * refused.
 */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

const { IPv4, IPv6 } = ipaddr;
const GLOBAL_UNICAST_V6: [ipaddr.IPv6, number] = [IPv6.parse('2000::'), 3];
/** Range checks call it public, but it answers only inside the machines of one cloud provider. */
const CLOUD_WIRE_SERVER = '168.63.129.16';

export function isPublicAddress(address: string): boolean {
  if (isOwnAddress(address)) return false;
  if (IPv4.isValidFourPartDecimal(address)) {
    return IPv4.parse(address).range() === 'unicast' && address !== CLOUD_WIRE_SERVER;
  }
  if (!IPv6.isValid(address) || address.includes('%')) return false;
  const parsed = IPv6.parse(address);
  return parsed.match(GLOBAL_UNICAST_V6) && parsed.range() === 'unicast';
}

/** A machine with a public address must not be reached through itself. */
function isOwnAddress(address: string): boolean {
  for (const entries of Object.values(networkInterfaces())) {
    if (entries?.some((entry) => entry.address === address)) return true;
  }
  return false;
}

/**
 * Names that are never public, whatever the DNS says: the loopback family, single labels (search domains, container and
 * cloud-internal names) and private top-level domains.
 */
export function isPublicName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '').toLowerCase();
  if (!name.includes('.')) return false;
  return !/\.(localhost|localdomain|local|internal|intranet|lan|home|corp|private|arpa|test|invalid|onion)$/.test(name);
}
