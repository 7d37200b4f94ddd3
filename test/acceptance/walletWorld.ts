/** Deployment with wallet payments, its own chain and facilitator, and a chat model that soon uses up the credit. */
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import type { PrivateKeyAccount } from 'viem';
import { type EvmChain, startEvmChain } from '../chains/evmChain.ts';
import { startFacilitator, type TestFacilitator } from '../chains/facilitator.ts';
import { type Deployment, openDeployment } from './deployment.ts';

export interface WalletWorld {
  chain: EvmChain;
  facilitator: TestFacilitator;
  deployment: Deployment;
  payTo: string;
  /** Makes a wallet with this many dollars on the chain. */
  newPayer(dollars: number): Promise<Payer>;
  /** The payer's top-up row and its nano USD credited by top-ups. */
  topUpOf(payer: Payer): Promise<TopUp | undefined>;
  close(): Promise<void>;
}

export interface Payer {
  wallet: PrivateKeyAccount;
  /** `fetch` of the unchanged published packages. */
  payingFetch: typeof fetch;
  signedFetch: typeof fetch;
  topUp(): Promise<Response>;
  /** Calls the expensive model at 0.05 USD per token. Default: 32 tokens. */
  chat(mostTokens?: number): Promise<Response>;
}

export interface TopUp {
  state: string;
  settlements: number;
  /** Nano USD credited to the payer's account by top-ups. */
  credited: bigint;
}

/** USD per million tokens. */
const DEAR = { usd: 50_000, diem: 50_000 };
const CHEAP = { usd: 0.1, diem: 0.1 };

export async function openWalletWorld(): Promise<WalletWorld> {
  const chain = await startEvmChain({ blockSeconds: 1 });
  const facilitator = await startFacilitator(chain);
  const payTo = (await chain.newWallet()).address;
  const deployment = await openDeployment({ configuration: configurationOf(chain, facilitator, payTo) });
  const { baseUrl, pool } = deployment;
  return {
    ...{ chain, facilitator, deployment, payTo },
    newPayer: async (dollars) => payerOf(await chain.newWallet(BigInt(dollars) * 1_000_000n), chain, baseUrl),
    async topUpOf({ wallet }) {
      const address = wallet.address.toLowerCase();
      const { rows } = await pool.query<{ state: string; settlements: number; account_id: string }>(
        'select state, settlements, account_id from top_ups where payer = $1',
        [address],
      );
      const [row] = rows;
      if (row === undefined) return undefined;
      const sum = await pool.query<{ sum: string }>(
        "select coalesce(sum(amount), 0) as sum from transfers where account_id = $1 and kind = 'top_up'",
        [row.account_id],
      );
      return { state: row.state, settlements: row.settlements, credited: BigInt(sum.rows[0]?.sum ?? '0') };
    },
    async close() {
      await deployment.close();
      await facilitator.close();
      await chain.stop();
    },
  };
}

function configurationOf(chain: EvmChain, facilitator: TestFacilitator, payTo: string): object {
  const { network, usdc, rpcUrl } = chain;
  const at = { network, asset: usdc, payTo, rpcUrl, facilitatorUrl: facilitator.url };
  return {
    x402: { networks: [{ ...at, confirmations: 1, allowPrivateNetwork: true }] },
    models: [
      {
        ...{ id: 'dear-chat', type: 'text', provider: 'simulator', upstreamModel: 'simulator-text' },
        ...{ size: 'XS', privacy: 'private' },
        spec: {
          ...{ name: 'Dear chat', availableContextTokens: 32_768, capabilities: {} },
          pricing: { input: CHEAP, output: DEAR },
        },
      },
    ],
  };
}

function payerOf(wallet: PrivateKeyAccount, { network, usdc }: EvmChain, baseUrl: string): Payer {
  const asset = { network: network as `eip155:${string}`, asset: usdc, maxAmountPerPayment: '5000000' };
  const client = new x402Client().setSpendControls({ allowedAssets: [asset] });
  registerExactEvmScheme(client, { signer: wallet });
  const payingFetch = wrapFetchWithPayment(fetch, client);
  const signedFetch = wrapFetchWithSIWx(fetch, wallet);
  const messages = [{ role: 'user', content: 'Say something long, and do not stop before all is said.' }];
  return {
    ...{ wallet, payingFetch, signedFetch },
    topUp: () => payingFetch(`${baseUrl}/x402/top-up`, { method: 'POST' }),
    chat: (mostTokens = 32) =>
      signedFetch(`${baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'dear-chat', max_tokens: mostTokens, messages }),
      }),
  };
}
