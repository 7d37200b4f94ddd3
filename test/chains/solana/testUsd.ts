/** Test token with six decimals, and wallets that hold some of it. */
import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createTransactionMessage,
  generateKeyPairSigner,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { readSubmission, type SolanaChain } from './solanaChain.ts';
import { tokenAccount } from './solanaMeta.ts';

/** Version 2, which the payment scheme names. The memo package defaults to a later one. */
export const MEMO_PROGRAM_ADDRESS = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;

const DECIMALS = 6;
const SOL = 1_000_000_000n;

export interface TestUsd {
  mint: Address;
  /** The SPL token program, or Token-2022. */
  program: Address;
  /** Token account of an owner, which may not exist. */
  accountOf(owner: Address): Promise<Address>;
  /** Creates the owner's token account if needed and adds `amount` smallest units. */
  fund(owner: Address, amount: bigint): Promise<Address>;
  /** Smallest units. 0 without an account. */
  balanceOf(owner: Address): Promise<bigint>;
}

export async function createTestUsd(
  chain: SolanaChain,
  { program = TOKEN_PROGRAM_ADDRESS, decimals = DECIMALS }: { program?: Address; decimals?: number } = {},
): Promise<TestUsd> {
  const issuer = await fundedSigner(chain);
  const mint = await generateKeyPairSigner();
  const space = getMintSize();
  const lamports = chain.svm.minimumBalanceForRentExemption(BigInt(space));
  await runInstructions(chain, issuer, [
    getCreateAccountInstruction({
      payer: issuer,
      newAccount: mint,
      lamports,
      space,
      programAddress: program,
    }),
    getInitializeMint2Instruction(
      { mint: mint.address, decimals, mintAuthority: issuer.address },
      { programAddress: program },
    ),
  ]);
  const accountOf = async (owner: Address) =>
    (await findAssociatedTokenPda({ owner, mint: mint.address, tokenProgram: program }))[0];
  return {
    mint: mint.address,
    program,
    accountOf,
    async fund(owner, amount) {
      const token = await accountOf(owner);
      const input = { payer: issuer, owner, mint: mint.address, ata: token, tokenProgram: program };
      await runInstructions(chain, issuer, [
        await getCreateAssociatedTokenIdempotentInstructionAsync(input),
        getMintToInstruction({ mint: mint.address, token, mintAuthority: issuer, amount }, { programAddress: program }),
      ]);
      return token;
    },
    async balanceOf(owner) {
      const found = tokenAccount(chain.svm, await accountOf(owner));
      return BigInt(found?.uiTokenAmount.amount ?? 0);
    },
  };
}

/** A new key with ten SOL. */
export async function fundedSigner(chain: SolanaChain): Promise<KeyPairSigner> {
  const signer = await generateKeyPairSigner();
  chain.airdrop(signer.address, 10n * SOL);
  return signer;
}

/** Executes one transaction at once, whatever `onSubmit` is. Returns its signature. */
async function runInstructions(
  chain: SolanaChain,
  feePayer: KeyPairSigner,
  instructions: readonly Instruction[],
): Promise<string> {
  const { blockhash, lastValidBlockHeight } = chain.latestBlockhash('confirmed');
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(feePayer, empty),
    (unfit) =>
      setTransactionMessageLifetimeUsingBlockhash({ blockhash: blockhash as Blockhash, lastValidBlockHeight }, unfit),
    (bare) => appendTransactionMessageInstructions(instructions, bare),
  );
  const signed = await signTransactionMessageWithSigners(message);
  const submission = readSubmission(new Uint8Array(getTransactionEncoder().encode(signed)));
  chain.execute(submission);
  const record = chain.records.get(submission.signature);
  if (record === undefined || record.fault !== null) {
    throw new Error(`not executed: ${JSON.stringify(record?.fault)} ${record?.meta.logMessages.join(' | ')}`);
  }
  return submission.signature;
}
