import ipaddr from 'ipaddr.js';

/** Network by which calls of unknown clients are counted: an IPv6 client usually has a whole network of addresses. */
export function callerNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = parsed.toByteArray().slice(0, 8);
  return network.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
