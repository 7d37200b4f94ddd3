/**
 * Starts a chain for one test: anvil on a free port with the test dollar. Its first account (`bank`) pays for the
 * helpers. `newWallet` makes wallets that nobody else uses.
 */
import { randomBytes } from 'node:crypto';
import {
  type Abi,
  type Address,
  createTestClient,
  defineChain,
  type Hex,
  http,
  type PrivateKeyAccount,
  parseEther,
  publicActions,
  type TransactionReceipt,
  toHex,
  walletActions,
} from 'viem';
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from 'viem/accounts';
import { createTurn } from '../../dev/chain/facilitator.ts';
import { TEST_USD } from '../../dev/chain/testUsd.ts';
import { untilMined } from '../../dev/chain/untilMined.ts';
import { type AnvilChoices, launchAnvil } from './anvil.ts';
import { type Artifact, testContract } from './artifact.ts';

const BASE_SEPOLIA = 84532;
/** The published mnemonic of anvil, without value. */
export const MNEMONIC = 'test test test test test test test test test test test junk';

export interface EvmChainOptions extends AnvilChoices {
  chainId?: number;
  /** Contract in place of USDC. Default: the test dollar. */
  token?: Artifact;
}

interface Call {
  address: Address;
  abi: Abi;
  functionName: string;
  args?: readonly unknown[];
}

/** Transfer that a payer signs (EIP-3009). Amounts are in millionths of a dollar, times in Unix seconds. */
export interface Authorization {
  from: Address;
  to: Address;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}

export type EvmChain = Awaited<ReturnType<typeof startEvmChain>>;

export async function startEvmChain(options: EvmChainOptions = {}) {
  const chainId = options.chainId ?? BASE_SEPOLIA;
  const anvil = await launchAnvil(chainId, options);
  const client = clientOf(anvil.rpcUrl, chainId);
  const bank = bankOf(client);
  const usdc = await bank.deploy(options.token ?? TEST_USD);
  return {
    ...{ rpcUrl: anvil.rpcUrl, pid: anvil.pid, stop: anvil.stop },
    ...{ chainId, network: `eip155:${chainId}`, client, usdc },
    ...bank,
    ...dollarOf(client, bank, usdc),
    ...authorizationsOf(client, chainId, usdc),
    ...timeOf(client, options.blockSeconds),
  };
}

type Client = ReturnType<typeof clientOf>;
type Bank = ReturnType<typeof bankOf>;

/** Account that pays for test transactions. Its functions throw the contract's message on a revert. */
function bankOf(client: Client) {
  const bank = mnemonicToAccount(MNEMONIC);
  const inTurn = createTurn();
  const mined = async (hash: Hex): Promise<TransactionReceipt> => {
    const receipt = await untilMined(client, hash);
    if (receipt.status !== 'success') throw new Error(`transaction ${hash} was reverted`);
    return receipt;
  };
  const deploy = async ({ abi, bytecode }: Artifact, args: readonly unknown[] = []): Promise<Address> => {
    const send = () => client.deployContract({ abi, bytecode, args, account: bank });
    const receipt = await inTurn(async () => mined(await send()));
    if (!receipt.contractAddress) throw new Error('the deployment has no address');
    return receipt.contractAddress;
  };
  const write = (call: Call): Promise<TransactionReceipt> =>
    inTurn(async () => mined(await client.writeContract({ ...call, args: call.args ?? [], account: bank })));
  /** Mines the transaction although it reverts. */
  const writeInVain = (call: Call): Promise<TransactionReceipt> =>
    inTurn(async () => {
      // A gas limit avoids the node's estimate, which would fail.
      const request = { ...call, args: call.args ?? [], account: bank, gas: 300_000n };
      return untilMined(client, await client.writeContract(request));
    });
  /** Deploys a contract of test/chains/contracts. */
  const deployNamed = (name: string, args: readonly unknown[] = []) => deploy(testContract(name), args);
  return { bank, mined, deploy, deployNamed, write, writeInVain };
}

function dollarOf(client: Client, { write }: Bank, usdc: Address) {
  const dollar = { address: usdc, abi: TEST_USD.abi };
  const mint = (to: Address, value: bigint) => write({ ...dollar, functionName: 'mint', args: [to, value] });
  const read = (functionName: string, args: readonly unknown[]) =>
    client.readContract({ ...dollar, functionName, args });
  return {
    mint,
    balanceOf: (owner: Address) => read('balanceOf', [owner]) as Promise<bigint>,
    isUsed: (owner: Address, nonce: Hex) => read('authorizationState', [owner, nonce]) as Promise<boolean>,
    /** Makes a wallet with `value` test dollar units and one ether. */
    newWallet: async (value = 0n): Promise<PrivateKeyAccount> => {
      const wallet = privateKeyToAccount(generatePrivateKey());
      await client.setBalance({ address: wallet.address, value: parseEther('1') });
      if (value > 0n) await mint(wallet.address, value);
      return wallet;
    },
    /** Submits an authorization, as a facilitator does. */
    settle: (a: Authorization, signature: Hex) =>
      write({
        ...dollar,
        functionName: 'transferWithAuthorization',
        args: [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, signature],
      }),
  };
}

function authorizationsOf(client: Client, chainId: number, usdc: Address) {
  return {
    /** Default: a new nonce, valid from 10 s ago for 10 minutes. */
    authorization: async (
      some: Pick<Authorization, 'from' | 'to' | 'value'> & Partial<Authorization>,
    ): Promise<Authorization> => {
      const { timestamp } = await client.getBlock();
      const nonce = toHex(randomBytes(32));
      return { validAfter: timestamp - 10n, validBefore: timestamp + 600n, nonce, ...some };
    },
    typedData: (message: Authorization) => transferTypedData({ chainId, usdc, message }),
    sign: (wallet: PrivateKeyAccount, message: Authorization): Promise<Hex> =>
      wallet.signTypedData(transferTypedData({ chainId, usdc, message })),
  };
}

function timeOf(client: Client, blockSeconds: number | undefined) {
  return {
    /** Unix seconds of the last block. */
    now: async () => (await client.getBlock()).timestamp,
    mine: (blocks: number) => client.mine({ blocks }),
    snapshot: () => client.snapshot(),
    /** Undoes everything after the snapshot. */
    revert: (id: Hex) => client.revert({ id }),
    /** Replaces the last `depth` blocks by empty ones. */
    reorg: (depth: number) =>
      client.request({ method: 'anvil_reorg', params: [depth, []] } as never) as Promise<unknown>,
    /** Runs `work` without timed blocks: each transaction is mined at once, and no block follows. */
    withoutBlockClock: async <T>(work: () => Promise<T>): Promise<T> => {
      await client.setAutomine(true);
      try {
        return await work();
      } finally {
        if (blockSeconds !== undefined) await client.setIntervalMining({ interval: blockSeconds });
      }
    },
    /** Mines the next block at this Unix time in seconds. */
    setTime: async (timestamp: bigint) => {
      await client.setNextBlockTimestamp({ timestamp });
      await client.mine({ blocks: 1 });
    },
  };
}

/** Typed data for `signTypedData`. */
function transferTypedData(of: { chainId: number; usdc: Address; message: Authorization }) {
  return {
    domain: { name: 'USD Coin', version: '2', chainId: of.chainId, verifyingContract: of.usdc },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: of.message,
  } as const;
}

const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

function clientOf(rpcUrl: string, id: number) {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const chain = defineChain({
    ...{ id, name: 'test chain', nativeCurrency },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  // The default caches block numbers for a block time, which is long for a test.
  const how = { mode: 'anvil', chain, transport: http(rpcUrl), pollingInterval: 20, cacheTime: 0 } as const;
  return createTestClient(how).extend(publicActions).extend(walletActions);
}
