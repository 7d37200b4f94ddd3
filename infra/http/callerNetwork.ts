import ipaddr from 'ipaddr.js';

/** What an address counts as where calls of strangers are counted: who has one of IPv6 has a whole network of them. */
export function callerNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = parsed.toByteArray().slice(0, 8);
  return network.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
