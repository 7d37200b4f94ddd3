/** Published chain clients work through the proxy as on a real node. */
import {
  appendTransactionMessageInstruction,
  createDefaultRpcTransport,
  type createSolanaRpc,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { FetchRequest, JsonRpcProvider, parseEther as parseEthers, Wallet } from 'ethers';
import { createPublicClient, createWalletClient, defineChain, http, parseAbiItem, parseEther } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRpcUpstreams } from '../../providers/rpc/createRpcUpstreams.ts';
import type { RpcUpstreams } from '../../providers/rpc/rpcUpstreams.ts';
import { newPayer, type RpcPayer, type RpcWorld, startRpcWorld } from '../api/rpc/rpcWorld.ts';
import { type EvmChain, startEvmChain } from '../chains/evmChain.ts';
import { SolanaChain } from '../chains/solana/solanaChain.ts';
import { type SolanaNode, startSolanaNode } from '../chains/solana/solanaNode.ts';
import { fundedSigner } from '../chains/solana/testUsd.ts';

let evm: EvmChain;
let solana: SolanaChain;
let solanaNode: SolanaNode;
let upstreams: RpcUpstreams;
let world: RpcWorld;
let payer: RpcPayer;
beforeAll(async () => {
  evm = await startEvmChain();
  solana = new SolanaChain();
  solanaNode = await startSolanaNode(solana);
  const behind = (url: string) => ({ endpoints: [url], allowPrivateNetwork: true });
  const networks = { 'base-sepolia': behind(evm.rpcUrl), 'solana-devnet': behind(solanaNode.url) };
  upstreams = createRpcUpstreams({ rpc: { networks }, secret: () => undefined });
  world = await startRpcWorld();
  world.api.opened.dependencies.providers.rpc = upstreams;
  payer = await newPayer(world);
});
afterAll(async () => {
  await world?.close();
  await upstreams?.close();
  await solanaNode?.close();
  solana?.close();
  await evm?.stop();
});

const url = (network: string) => `${world.api.baseUrl}/crypto/rpc/${network}`;
const bearer = () => ({ Authorization: `Bearer ${payer.key}` });
const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

function viem(batch = false) {
  const chain = defineChain({
    ...{ id: evm.chainId, name: 'local', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 } },
    rpcUrls: { default: { http: [url('base-sepolia')] } },
  });
  const options = { fetchOptions: { headers: bearer() }, retryCount: 0 };
  const transport = http(url('base-sepolia'), {
    ...options,
    ...(batch && { batch: { batchSize: 100, wait: 20 } }),
  });
  return { chain, transport, reads: createPublicClient({ chain, transport, pollingInterval: 50 }) };
}

describe('viem', () => {
  it('reads blocks, balances, code and past blocks', async () => {
    const { reads } = viem();
    expect(await reads.getChainId()).toBe(evm.chainId);
    expect(await reads.getBlockNumber()).toBe(await evm.client.getBlockNumber());
    expect(await reads.getCode({ address: evm.usdc })).toBe(await evm.client.getCode({ address: evm.usdc }));
    expect((await reads.getBlock({ blockNumber: 0n })).hash).toBe(
      (await evm.client.getBlock({ blockNumber: 0n })).hash,
    );
  });

  it('reads logs of a contract', async () => {
    const wallet = await evm.newWallet(5n);
    const logs = await viem().reads.getLogs({
      address: evm.usdc,
      event: TRANSFER,
      args: { to: wallet.address },
      fromBlock: 0n,
    });
    expect(logs.map(({ args }) => args.value)).toEqual([5n]);
  });

  it('sends a hundred reads as one batch', async () => {
    const { reads } = viem(true);
    const addresses = Array.from({ length: 100 }, () => privateKeyToAccount(generatePrivateKey()).address);
    await evm.client.setBalance({ address: addresses[42] as `0x${string}`, value: 7n });
    const balances = await Promise.all(addresses.map((address) => reads.getBalance({ address })));
    expect(balances.filter((balance) => balance === 7n)).toHaveLength(1);
    expect(balances[42]).toBe(7n);
  });

  it('sends a transaction that is mined once', async () => {
    const { chain, transport, reads } = viem();
    const account = await evm.newWallet();
    const to = privateKeyToAccount(generatePrivateKey()).address;
    const hash = await createWalletClient({ account, chain, transport }).sendTransaction({
      to,
      value: parseEther('0.25'),
    });
    // viem can miss the only block if it comes during its lookup.
    await evm.mined(hash);
    const receipt = await reads.waitForTransactionReceipt({ hash });
    expect(receipt.status).toBe('success');
    expect(await evm.client.getBalance({ address: to })).toBe(parseEther('0.25'));
    expect(await evm.client.getTransactionCount({ address: account.address })).toBe(1);
    expect(await upstreams.knowsTransaction('base-sepolia', hash, AbortSignal.timeout(5_000))).toBe(true);
    expect(await upstreams.knowsTransaction('base-sepolia', `0x${'12'.repeat(32)}`, AbortSignal.timeout(5_000))).toBe(
      false,
    );
  });

  it('is refused a subscription', async () => {
    const { reads } = viem();
    const subscribe = reads.request({ method: 'eth_subscribe', params: ['newHeads'] } as never);
    await expect(subscribe).rejects.toThrow(/400/);
  });
});

describe('ethers', () => {
  it('reads, sends batches, and sends a transaction that is mined once', async () => {
    const request = new FetchRequest(url('base-sepolia'));
    request.setHeader('Authorization', bearer().Authorization);
    const provider = new JsonRpcProvider(request, evm.chainId, { staticNetwork: true, pollingInterval: 50 });
    const account = await evm.newWallet(3n);
    expect(await provider.getBlockNumber()).toBeGreaterThan(0);
    const logs = await provider.getLogs({ address: evm.usdc, fromBlock: 0 });
    expect(logs.length).toBeGreaterThan(0);
    const many = await Promise.all(Array.from({ length: 100 }, (_, at) => provider.getStorage(evm.usdc, at)));
    expect(many).toHaveLength(100);
    const key = generatePrivateKey();
    const wallet = new Wallet(key, provider);
    await evm.client.setBalance({ address: wallet.address as `0x${string}`, value: parseEther('1') });
    const sent = await wallet.sendTransaction({ to: account.address, value: parseEthers('0.1') });
    const receipt = await sent.wait(1, 20_000);
    expect(receipt?.status).toBe(1);
    expect(await provider.getTransactionCount(wallet.address)).toBe(1);
    provider.destroy();
  });
});

describe('the Solana client', () => {
  it('reads, and submits a signed transfer that is executed once', async () => {
    const transport = createDefaultRpcTransport({ url: url('solana-devnet'), headers: bearer() });
    const rpc = createSolanaRpcFromTransport(transport) as ReturnType<typeof createSolanaRpc>;
    const sender = await fundedSigner(solana);
    const receiver = await generateKeyPairSigner();
    expect(await rpc.getGenesisHash().send()).toBe(solana.genesisHash);
    const before = (await rpc.getBalance(sender.address).send()).value;
    const { value: latest } = await rpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(sender, empty),
      (unfit) => setTransactionMessageLifetimeUsingBlockhash(latest, unfit),
      (bare) =>
        appendTransactionMessageInstruction(
          getTransferSolInstruction({
            source: sender,
            destination: receiver.address,
            amount: lamports(1_000_000_000n),
          }),
          bare,
        ),
    );
    const signed = await signTransactionMessageWithSigners(message);
    const submissions = solana.submissions;
    const wire = getBase64EncodedWireTransaction(signed);
    expect(await rpc.sendTransaction(wire, { encoding: 'base64' }).send()).toBe(getSignatureFromTransaction(signed));
    expect(solana.submissions - submissions).toBe(1);
    const balance = (await rpc.getBalance(receiver.address, { commitment: 'confirmed' }).send()).value;
    expect(balance).toBe(1_000_000_000n);
    const after = (await rpc.getBalance(sender.address, { commitment: 'confirmed' }).send()).value;
    expect(before - after).toBeGreaterThanOrEqual(1_000_000_000n);
    const signature = getSignatureFromTransaction(signed);
    expect(await upstreams.knowsTransaction('solana-devnet', signature, AbortSignal.timeout(5_000))).toBe(true);
  });
});
