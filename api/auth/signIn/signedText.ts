/** Checks that the key of a wallet signed a text: EIP-191 (EOA), or Ed25519 as Solana wallets sign messages. */
import { getAddress, hashMessage } from 'viem';
import { bytesOfBase58 } from '../../../domain/base58.ts';
import type { Wallet } from '../../../domain/wallets.ts';
import { isSignedBy, isValidPublicKey } from './ed25519.ts';
import { loadRecoverSigner, type RecoverSigner } from './recoverSigner.ts';

/** Kept by the module: what is loaded is the same whoever asks, and only keys for wallets need it. */
let recovery: Promise<RecoverSigner> | undefined;

const HEX = /^0x[0-9a-f]{130}$/;

/** The address as it stands in a text to sign: with its checksum for EVM. */
export function addressText({ family, address }: Wallet): string {
  return family === 'evm' ? getAddress(address) : address;
}

/** `signature`: 65 bytes in hex with 0x; for Solana 64 bytes in base58. */
export async function isTextSignedBy(wallet: Wallet, text: string, signature: string): Promise<boolean> {
  if (wallet.family === 'solana') return isSignedOnSolana(wallet, text, signature);
  if (!HEX.test(signature)) return false;
  recovery ??= loadRecoverSigner();
  const recover = await recovery;
  const signer = recover(hashMessage(text, 'bytes'), Buffer.from(signature.slice(2), 'hex'));
  return signer?.isCanonical === true && signer.address === wallet.address;
}

function isSignedOnSolana({ address }: Wallet, text: string, signature: string): boolean {
  const key = bytesOfBase58(address, 32);
  const bytes = bytesOfBase58(signature, 64);
  if (!key || !bytes || !isValidPublicKey(key)) return false;
  return isSignedBy(key, Buffer.from(text), bytes);
}
