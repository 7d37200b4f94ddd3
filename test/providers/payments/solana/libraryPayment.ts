/** A payment as Solana clients build it, with the published libraries only. */
import { randomBytes } from 'node:crypto';
import {
  type Address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createTransactionMessage,
  getBase58Encoder,
  getBase64EncodedWireTransaction,
  partiallySignTransactionMessageWithSigners,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget';
import { getAddMemoInstruction } from '@solana-program/memo';
import { fetchMint, findAssociatedTokenPda, getTransferCheckedInstruction } from '@solana-program/token';
import type { PaymentRequirement } from '../../../../providers/payments/paymentNetwork.ts';
import { MEMO_PROGRAM_ADDRESS } from '../../../chains/solana/testUsd.ts';

export interface LibraryPayer {
  rpcUrl: string;
  /** 64 bytes in base58. */
  secret: string;
}

/** Follows the steps of the exact scheme's reference client, with only the Solana libraries and the offer. */
export async function builtByLibraries(
  offer: Pick<PaymentRequirement, 'asset' | 'payTo' | 'amount' | 'extra'>,
  { rpcUrl, secret }: LibraryPayer,
): Promise<{ transaction: string }> {
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(secret));
  const rpc = createSolanaRpc(rpcUrl);
  const mint = await fetchMint(rpc, offer.asset as Address);
  const tokenProgram = mint.programAddress;
  const accountOf = async (owner: Address) =>
    (await findAssociatedTokenPda({ mint: mint.address, owner, tokenProgram }))[0];
  const transfer = getTransferCheckedInstruction(
    {
      source: await accountOf(signer.address),
      mint: mint.address,
      destination: await accountOf(offer.payTo as Address),
      authority: signer,
      amount: BigInt(offer.amount),
      decimals: mint.data.decimals,
    },
    { programAddress: tokenProgram },
  );
  const { value: lifetime } = await rpc.getLatestBlockhash().send();
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(offer.extra.feePayer as Address, empty),
    (unfit) => setTransactionMessageLifetimeUsingBlockhash(lifetime, unfit),
    (bare) =>
      appendTransactionMessageInstructions(
        [
          getSetComputeUnitLimitInstruction({ units: 20_000 }),
          getSetComputeUnitPriceInstruction({ microLamports: 1n }),
          transfer,
          getAddMemoInstruction({ memo: randomBytes(16).toString('hex') }, { programAddress: MEMO_PROGRAM_ADDRESS }),
        ],
        bare,
      ),
  );
  const signed = await partiallySignTransactionMessageWithSigners(message);
  return { transaction: getBase64EncodedWireTransaction(signed) };
}
