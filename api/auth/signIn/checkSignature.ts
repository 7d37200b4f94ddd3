/** Checks that a sign-in was signed by its wallet, always over the text that was written from the parsed fields. */
import { getAddress, hashMessage, toHex } from 'viem';
import { bytesOfBase58 } from '../../../domain/base58.ts';
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import { signedTexts, type UnverifiedSignIn } from '../../../domain/signIn/rules.ts';
import { isSignedBy, isValidPublicKey } from './ed25519.ts';
import type { RecoverSigner } from './recoverSigner.ts';
import type { SmartWallets } from './smartWallets.ts';

/** Lower case only: each signature has one spelling. */
const HEX = /^0x(?:[0-9a-f]{2})+$/;
const EOA_BYTES = 65;

/**
 * Checks the signature of a key or a contract. EIP-191 comes first; where it finds no signer, the wallet may be a
 * contract. `from`: address of the client on whose behalf the chain is queried. Throws SignInRefused, or FareboxError:
 * `unavailable` when the chain does not answer, `rate_limited`.
 */
export async function checkEvm(
  read: UnverifiedSignIn,
  { recover, wallets, from }: { recover: RecoverSigner; wallets: SmartWallets; from: string },
): Promise<'key' | 'contract'> {
  if (!HEX.test(read.signature)) throw invalid('must be hex in lower case, beginning with 0x');
  const signature = Buffer.from(read.signature.slice(2), 'hex');
  const texts = signedTexts(read, getAddress);
  const isOfAKey = signature.length === EOA_BYTES;
  for (const text of isOfAKey ? texts : []) {
    const signer = recover(hashMessage(text, 'bytes'), signature);
    if (signer?.address !== read.wallet.address) continue;
    if (signer.isCanonical) return 'key';
    throw invalid('is not in its canonical form: v must be 27 or 28 and s in the lower half');
  }
  const mayBeContract = read.signedBy !== 'key' && !(isOfAKey && !read.signedBy && !wallets.canAsk(read.network));
  if (!mayBeContract) throw invalid('is not of this address over this message');
  const asked = {
    network: read.network,
    address: toAddress(read.wallet.address),
    digest: hashMessage(texts[0] ?? ''),
    signature: toHex(signature),
  };
  await wallets.check(asked, from);
  return 'contract';
}

/** Throws SignInRefused. */
export function checkSolana(read: UnverifiedSignIn): void {
  const key = bytesOfBase58(read.wallet.address, 32);
  if (key === undefined || !isValidPublicKey(key)) {
    throw new SignInRefused('X402_SIGN_IN_INVALID_WALLET', 'The address is no key that a wallet could have.');
  }
  const signature = toSignature(read.signature);
  if (signature === undefined) throw invalid('must be 64 bytes in base58 or padded base64');
  const texts = signedTexts(read, (address) => address);
  if (!texts.some((text) => isSignedBy(key, Buffer.from(text), signature))) {
    throw invalid('is not of this address over this message');
  }
}

/** Base64 of 64 bytes always has padding, which base58 never has. */
function toSignature(text: string): Uint8Array | undefined {
  if (!text.endsWith('=')) return bytesOfBase58(text, 64);
  const bytes = text.length === 88 ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  return bytes.length === 64 && bytes.toString('base64') === text ? bytes : undefined;
}

function toAddress(address: string): `0x${string}` {
  return `0x${address.slice(2)}`;
}

function invalid(what: string): SignInRefused {
  return new SignInRefused('X402_SIGN_IN_INVALID_SIGNATURE', `The signature of the sign-in ${what}.`);
}
