import { type Account, createWalletClient, defineChain, http, publicActions } from 'viem';

/** Client that reads a local chain and writes to it from `account`. */
export function chainClient(rpcUrl: string, id: number, account: Account) {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const rpcUrls = { default: { http: [rpcUrl] } };
  const chain = defineChain({ id, name: 'local chain', nativeCurrency, rpcUrls });
  const transport = http(rpcUrl);
  // Disables the cache, which by default lasts a block time.
  const how = { account, chain, transport, pollingInterval: 50, cacheTime: 0 };
  return createWalletClient(how).extend(publicActions);
}

export type ChainClient = ReturnType<typeof chainClient>;
