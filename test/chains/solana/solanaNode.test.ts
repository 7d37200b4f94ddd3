import {
  appendTransactionMessageInstructions,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  pipe,
  type Signature,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getAddMemoInstruction } from '@solana-program/memo';
import { fetchMint, fetchToken, getTransferCheckedInstruction } from '@solana-program/token';
import { expect, onTestFinished, test } from 'vitest';
import { SolanaChain } from './solanaChain.ts';
import { startSolanaNode } from './solanaNode.ts';
import { createTestUsd, fundedSigner, MEMO_PROGRAM_ADDRESS } from './testUsd.ts';

async function world() {
  const chain = new SolanaChain();
  const node = await startSolanaNode(chain);
  onTestFinished(() => node.close());
  const usd = await createTestUsd(chain);
  const payer = await fundedSigner(chain);
  const receiver = (await generateKeyPairSigner()).address;
  const source = await usd.fund(payer.address, 20_000_000n);
  const destination = await usd.fund(receiver, 0n);
  const rpc = createSolanaRpc(node.url);
  const transfer = async (amount: bigint, memo = 'thanks') => {
    const { value: lifetime } = await rpc.getLatestBlockhash().send();
    const input = { source, mint: usd.mint, destination, authority: payer, amount, decimals: 6 };
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (unfit) => setTransactionMessageLifetimeUsingBlockhash(lifetime, unfit),
      (bare) =>
        appendTransactionMessageInstructions(
          [
            getTransferCheckedInstruction(input),
            getAddMemoInstruction({ memo }, { programAddress: MEMO_PROGRAM_ADDRESS }),
          ],
          bare,
        ),
    );
    return await signTransactionMessageWithSigners(message);
  };
  return { chain, node, usd, payer, receiver, source, destination, rpc, transfer };
}

const BASE64 = { encoding: 'base64' } as const;

test('the Solana web client reads the chain, and a signed transfer is executed once', async () => {
  const { chain, usd, payer, receiver, source, destination, rpc, transfer } = await world();
  expect(await rpc.getGenesisHash().send()).toBe(chain.genesisHash);
  expect(await rpc.getHealth().send()).toBe('ok');
  expect(await rpc.getVersion().send()).toHaveProperty('solana-core');
  expect((await rpc.getBalance(payer.address).send()).value).toBe(10_000_000_000n);
  expect((await fetchMint(rpc, usd.mint)).data.decimals).toBe(6);
  expect(await rpc.getMinimumBalanceForRentExemption(165n).send()).toBeGreaterThan(0n);
  const slot = await rpc.getSlot().send();
  expect(await rpc.getBlockHeight().send()).toBeLessThan(slot);
  expect(await rpc.getBlockTime(slot).send()).toBeGreaterThan(1_700_000_000n);

  const signed = await transfer(5_000_000n);
  const signature = getSignatureFromTransaction(signed);
  const wire = getBase64EncodedWireTransaction(signed);
  const trial = await rpc.simulateTransaction(wire, { ...BASE64, sigVerify: true }).send();
  expect(trial.value.err).toBeNull();
  expect(await usd.balanceOf(receiver)).toBe(0n);

  expect(await rpc.sendTransaction(wire, BASE64).send()).toBe(signature);
  await expect(rpc.sendTransaction(wire, BASE64).send()).rejects.toThrow();
  expect(await rpc.sendTransaction(wire, { ...BASE64, skipPreflight: true }).send()).toBe(signature);
  expect((await fetchToken(rpc, destination)).data.amount).toBe(5_000_000n);
  expect((await rpc.getTokenAccountBalance(source).send()).value.uiAmountString).toBe('15');

  const found = await rpc
    .getTransaction(signature, { ...BASE64, commitment: 'confirmed', maxSupportedTransactionVersion: 0 })
    .send();
  expect(found?.transaction[0]).toBe(wire);
  expect(found?.meta?.fee).toBe(5_000n);
  expect(found?.meta?.preTokenBalances?.map((each) => each.uiTokenAmount.amount).sort()).toEqual(['0', '20000000']);
  expect(found?.meta?.postTokenBalances?.find((each) => each.owner === receiver)?.uiTokenAmount.amount).toBe('5000000');
  const [newest] = await rpc.getSignaturesForAddress(source, { commitment: 'confirmed' }).send();
  expect(newest?.signature).toBe(signature);
});

test('a transaction becomes final, and a blockhash expires after 150 blocks', async () => {
  const { chain, rpc, transfer } = await world();
  const [first, late] = [await transfer(1n), await transfer(2n, 'late')];
  const signature = getSignatureFromTransaction(first);
  const status = async (of: Signature) => (await rpc.getSignatureStatuses([of]).send()).value[0];
  await rpc.sendTransaction(getBase64EncodedWireTransaction(first), BASE64).send();
  expect((await status(signature))?.confirmationStatus).toBe('confirmed');
  const asked = { ...BASE64, commitment: 'finalized', maxSupportedTransactionVersion: 0 } as const;
  expect(await rpc.getTransaction(signature, asked).send()).toBeNull();
  chain.advance(32);
  expect(await status(signature)).toMatchObject({ confirmationStatus: 'finalized', confirmations: null });
  expect(await rpc.getTransaction(signature, asked).send()).not.toBeNull();

  chain.advance(150);
  const wire = getBase64EncodedWireTransaction(late);
  await expect(rpc.sendTransaction(wire, BASE64).send()).rejects.toThrow();
  await rpc.sendTransaction(wire, { ...BASE64, skipPreflight: true }).send();
  expect(await status(getSignatureFromTransaction(late))).toBeNull();
  expect(await status(signature)).toBeNull();
  const { value } = await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send();
  expect(value[0]?.err).toBeNull();
});

test('a transaction that fails while it runs is in a block, pays its fee and moves nothing', async () => {
  const { usd, payer, receiver, rpc, transfer } = await world();
  const tooMuch = await transfer(21_000_000n);
  const wire = getBase64EncodedWireTransaction(tooMuch);
  await expect(rpc.sendTransaction(wire, BASE64).send()).rejects.toThrow();
  const before = (await rpc.getBalance(payer.address).send()).value;
  await rpc.sendTransaction(wire, { ...BASE64, skipPreflight: true }).send();
  const { value } = await rpc.getSignatureStatuses([getSignatureFromTransaction(tooMuch)]).send();
  expect(value[0]?.err).toEqual({ InstructionError: [0n, { Custom: 1n }] });
  expect((await rpc.getBalance(payer.address).send()).value).toBe(before - 5_000n);
  expect(await usd.balanceOf(receiver)).toBe(0n);
});

test('a forged signature, an unknown method and a broken body get the errors of a validator', async () => {
  const { node, usd, receiver, rpc, transfer } = await world();
  const bytes = Buffer.from(getBase64EncodedWireTransaction(await transfer(1n)), 'base64');
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  const post = async (body: string) =>
    await (await fetch(node.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).json();
  const call = {
    jsonrpc: '2.0',
    id: 7,
    method: 'sendTransaction',
    params: [bytes.toString('base64'), BASE64],
  };
  expect(await post(JSON.stringify(call))).toMatchObject({ id: 7, error: { code: -32003 } });
  const skipping = { ...call, params: [call.params[0], { ...BASE64, skipPreflight: true }] };
  expect(await post(JSON.stringify(skipping))).toHaveProperty('result');
  expect(await usd.balanceOf(receiver)).toBe(0n);
  expect(await post('{')).toMatchObject({ id: null, error: { code: -32700 } });
  const batch = [
    { jsonrpc: '2.0', id: 'a', method: 'getSlot' },
    { jsonrpc: '2.0', id: null, method: 'getNothing' },
  ];
  expect(await post(JSON.stringify(batch))).toEqual([
    { jsonrpc: '2.0', id: 'a', result: expect.any(Number) },
    { jsonrpc: '2.0', id: null, error: { code: -32601, message: 'Method not found' } },
  ]);
  expect(await rpc.getHealth().send()).toBe('ok');
});
