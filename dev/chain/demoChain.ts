/**
 * Chain of `npm start -- --with-demo-chain`: anvil with a test dollar, a facilitator and a funded wallet. Its state is
 * in the data folder, so that payments in the ledger still exist on the chain after a restart.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Address, getContractAddress, type Hex } from 'viem';
import { callOwn } from '../../infra/http/operatorFetch.ts';
import { freePorts } from '../stack/freePorts.ts';
import { writeJson } from '../stack/jsonFile.ts';
import type { FoundProgram, PartProcess } from '../stack/part.ts';
import { partEnvironment } from '../stack/part.ts';
import { anvilProcess } from '../stack/parts/anvil.ts';
import { type SuperviseOptions, supervise } from '../stack/supervise.ts';
import { type ChainClient, chainClient } from './chainClient.ts';
import { type DemoWallets, demoWallets, privateKeyOf } from './demoSecrets.ts';
import type { FacilitatorSettings } from './facilitatorMain.ts';
import { TEST_USD } from './testUsd.ts';
import { untilMined } from './untilMined.ts';

/** Chain id of Base Sepolia, which the demo chain replaces. */
const DEMO_CHAIN_ID = 84532;
export const DEMO_NETWORK = `eip155:${DEMO_CHAIN_ID}`;
/** Name in the list of RPC networks. */
export const DEMO_RPC_NETWORK = 'base-sepolia';

/** Access to the chain, as in dev.json. The private key is of a wallet with play money on this chain only. */
export interface DemoChain {
  rpcUrl: string;
  chainId: number;
  network: string;
  asset: Address;
  payTo: Address;
  facilitatorUrl: string;
  wallet: { address: Address; privateKey: Hex };
}

export interface DemoChainOptions {
  program: FoundProgram;
  /** Path of the data folder. */
  folder: string;
  supervision: SuperviseOptions;
}

/** The demo wallet is topped up to a thousand dollars at each start. */
const PURSE = 1_000_000_000n;
/** Transactions are mined at once. Empty blocks only advance the chain's clock, and each one is stored. */
const BLOCK_SECONDS = 60;

export async function startDemoChain(options: DemoChainOptions): Promise<DemoChain> {
  const folder = path.join(options.folder, 'chain');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const wallets = demoWallets(folder);
  const [chainPort = 0, facilitatorPort = 0] = await freePorts(2);
  const rpcUrl = `http://127.0.0.1:${chainPort}`;
  const client = chainClient(rpcUrl, DEMO_CHAIN_ID, wallets.bank);
  const furnish = () => furnishChain(client, wallets);
  await supervise(
    anvilProcess({
      ...{ program: options.program, folder, port: chainPort, chainId: DEMO_CHAIN_ID },
      ...{ blockSeconds: BLOCK_SECONDS, mnemonic: wallets.mnemonic, stateFile: readableState(folder) },
    }),
    withRestart(options.supervision, furnish),
  );
  const asset = await furnish();
  await supervise(facilitatorProcess(folder, { rpcUrl, port: facilitatorPort }, wallets), options.supervision);
  return {
    ...{ rpcUrl, chainId: DEMO_CHAIN_ID, network: DEMO_NETWORK, asset },
    payTo: wallets.payTo.address,
    facilitatorUrl: `http://127.0.0.1:${facilitatorPort}`,
    wallet: { address: wallets.payer.address, privateKey: privateKeyOf(wallets.payer) },
  };
}

/** A chain that crashed before its first saved state starts empty, without the token. */
function withRestart(supervision: SuperviseOptions, furnish: () => Promise<unknown>): SuperviseOptions {
  return {
    ...supervision,
    onRestart(event) {
      // A failure is repaired at the next start.
      furnish().catch(() => undefined);
      supervision.onRestart?.(event);
    },
  };
}

/** Deploys the token and funds the wallet, as far as missing. */
async function furnishChain(client: ChainClient, { bank, payer }: DemoWallets): Promise<Address> {
  const asset = await deployOnce(client, bank.address);
  await fillPurse(client, asset, payer.address);
  return asset;
}

/** Writes a configuration file for FAREBOX_DEMO_CHAIN. */
export function writeDemoConfiguration(folder: string, chain: DemoChain): string {
  const { network, asset, payTo, rpcUrl, facilitatorUrl } = chain;
  const file = path.join(folder, 'chain', 'configuration.json');
  const nobodyElse = { allowPrivateNetwork: true };
  // This chain has no reorganisations, and its next block may take a minute.
  const payment = { network, asset, payTo, rpcUrl, facilitatorUrl, confirmations: 0, ...nobodyElse };
  writeJson(file, {
    x402: { networks: [payment] },
    rpc: { networks: { [DEMO_RPC_NETWORK]: { endpoints: [rpcUrl], ...nobodyElse } } },
  });
  return file;
}

/** Renames a state file that a crash left incomplete, because the chain would not start with it. */
function readableState(folder: string): string {
  const file = path.join(folder, 'state.json');
  if (!existsSync(file)) return file;
  try {
    JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    renameSync(file, path.join(folder, 'state.broken.json'));
  }
  return file;
}

/** The first contract of a new chain always has this address. */
async function deployOnce(client: ChainClient, bank: Address): Promise<Address> {
  const address = getContractAddress({ from: bank, nonce: 0n });
  if ((await client.getCode({ address })) !== undefined) return address;
  const hash = await client.deployContract({ ...TEST_USD, nonce: 0 });
  await untilMined(client, hash);
  return address;
}

async function fillPurse(client: ChainClient, asset: Address, owner: Address): Promise<void> {
  const token = { address: asset, abi: TEST_USD.abi };
  const has = (await client.readContract({
    ...token,
    functionName: 'balanceOf',
    args: [owner],
  })) as bigint;
  if (has >= PURSE) return;
  const hash = await client.writeContract({ ...token, functionName: 'mint', args: [owner, PURSE - has] });
  await untilMined(client, hash);
}

function facilitatorProcess(folder: string, at: { rpcUrl: string; port: number }, wallets: DemoWallets): PartProcess {
  const file = path.join(folder, 'facilitator.json');
  const privateKey = privateKeyOf(wallets.facilitator);
  writeJson(file, { ...at, chainId: DEMO_CHAIN_ID, privateKey } satisfies FacilitatorSettings);
  return {
    name: 'facilitator',
    command: process.execPath,
    args: [fileURLToPath(new URL('./facilitatorMain.js', import.meta.url)), file],
    env: partEnvironment(),
    cwd: folder,
    check: () => mustSupport(`http://127.0.0.1:${at.port}/supported`),
    readyTimeoutMs: 60_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
  };
}

async function mustSupport(url: string): Promise<void> {
  const answer = await callOwn(url, { timeoutMs: 5_000 });
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`);
}
