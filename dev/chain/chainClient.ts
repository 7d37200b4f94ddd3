import { type Account, createWalletClient, defineChain, http, publicActions } from 'viem';

/** A client that reads a local chain and writes to it by `account`. */
export function chainClient(rpcUrl: string, id: number, account: Account) {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const rpcUrls = { default: { http: [rpcUrl] } };
  const chain = defineChain({ id, name: 'local chain', nativeCurrency, rpcUrls });
  const transport = http(rpcUrl);
  // Kept for a block time otherwise.
  const how = { account, chain, transport, pollingInterval: 50, cacheTime: 0 };
  return createWalletClient(how).extend(publicActions);
}

export type ChainClient = ReturnType<typeof chainClient>;
