import { createPrivateKey, sign } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { compileTransactionMessage, getCompiledTransactionMessageEncoder } from '@solana/kit';
import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x';
import type { Hex } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isSignedBy, isValidPublicKey } from '../../../../api/auth/signIn/ed25519.ts';
import type { SignIn } from '../../../../api/auth/signIn/signIn.ts';
import {
  BASE,
  DOMAIN,
  encode,
  FORMS,
  iso,
  newEvmWallet,
  newNonce,
  newSolanaWallet,
  type Sent,
  SOLANA,
  signed,
  signText,
  textOf,
} from '../../../harness/signIns.ts';
import { codeOf, createSignInWorld, FROM, type SignInWorld } from './signInWorld.ts';

const SECP256K1_N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const ED25519_L = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn;

let world: SignInWorld;
let signIn: SignIn;

beforeAll(async () => {
  world = await createSignInWorld();
  signIn = world.open();
});
afterAll(() => world.close());

describe('the unchanged x402 libraries', () => {
  const info = (chainId: string) => ({
    ...{ domain: `${DOMAIN}:8443`, uri: `https://${DOMAIN}:8443/api/v1/chat`, version: '1', chainId },
    ...{ type: chainId === BASE ? ('eip191' as const) : ('ed25519' as const), nonce: newNonce() },
    ...{ statement: 'Sign in to Farebox', issuedAt: iso(Date.now()) },
    expirationTime: iso(Date.now() + 300_000),
  });
  const url = `https://${DOMAIN}:8443/api/v1/chat`;

  test('createSIWxPayload and encodeSIWxHeader with an evm wallet', async () => {
    const wallet = newEvmWallet();
    for (const more of [{}, { statement: undefined, resources: ['https://api.example.com/a'], requestId: 'r1' }]) {
      const payload = await createSIWxPayload({ ...info(BASE), ...more } as never, wallet, url);
      const found = await signIn.verify(encodeSIWxHeader(payload), FROM);
      expect(found).toEqual({ family: 'evm', address: wallet.address.toLowerCase() });
    }
  });

  test('an evm address in lower case, which the library changes to checksum case in the text', async () => {
    const wallet = newEvmWallet();
    const lower = { ...wallet, address: wallet.address.toLowerCase() as Hex };
    const payload = await createSIWxPayload(info(BASE) as never, lower, url);
    expect(payload.address).toBe(lower.address);
    expect(await signIn.verify(encodeSIWxHeader(payload), FROM)).toEqual({
      family: 'evm',
      address: lower.address,
    });
  });

  test('createSIWxPayload and encodeSIWxHeader with a Solana wallet', async () => {
    const wallet = newSolanaWallet();
    const signer = { publicKey: wallet.address, signMessage: async (text: Uint8Array) => wallet.sign(text) };
    for (const more of [{}, { statement: undefined, resources: [] }]) {
      const payload = await createSIWxPayload({ ...info(SOLANA), ...more } as never, signer, url);
      const found = await signIn.verify(encodeSIWxHeader(payload), FROM);
      expect(found).toEqual({ family: 'solana', address: wallet.address });
    }
  });
});

describe('spellings of one wallet', () => {
  test('gives lower, upper and mixed case of an evm address the same wallet', async () => {
    const wallet = newEvmWallet();
    const spellings = [wallet.address, wallet.address.toLowerCase(), `0x${wallet.address.slice(2).toUpperCase()}`];
    for (const address of spellings) {
      const terms = { nonce: newNonce(), nowMs: Date.now() };
      const message = textOf('evm text', address, terms);
      const signature = await signText(wallet, message);
      const sent: Sent = { address: wallet.address, message, signature };
      expect(await signIn.verify(encode(sent), FROM)).toEqual({
        family: 'evm',
        address: wallet.address.toLowerCase(),
      });
      const again = { ...sent, address: wallet.address.toLowerCase() };
      expect(await codeOf(signIn, again)).toBe('NONCE_REUSED');
      const fields = await signed('evm fields', wallet, terms);
      expect(await codeOf(signIn, { ...fields, address })).toBe('NONCE_REUSED');
    }
  });

  test('accepts fields whose text was signed with the address as it was sent', async () => {
    const wallet = newEvmWallet();
    const terms = { nonce: newNonce(), nowMs: Date.now() };
    const address = wallet.address.toLowerCase();
    const fields = await signed('evm fields', wallet, terms);
    const signature = await signText(wallet, textOf('evm fields', address, terms));
    expect(await codeOf(signIn, { ...fields, address, signature })).toBeUndefined();
  });

  test('accepts a Solana signature in base64 instead of base58', async () => {
    const sent = await signed('Solana text', newSolanaWallet());
    const signature = Buffer.from(base58.decode(String(sent.signature))).toString('base64');
    expect(await codeOf(signIn, { ...sent, signature: signature.replace('==', '') })).toBe('INVALID_SIGNATURE');
    expect(await codeOf(signIn, { ...sent, signature })).toBeUndefined();
    expect(await codeOf(signIn, sent)).toBe('NONCE_REUSED');
  });
});

describe('spellings of a signature', () => {
  test('refuses high s, v of 0 and 1, upper case and the short form for evm', async () => {
    const sent = await signed('evm fields', newEvmWallet());
    const [r, s, v] = parts(String(sent.signature));
    const high = (SECP256K1_N - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
    const flipped = v === '1b' ? '1c' : '1b';
    for (const signature of [
      `0x${r}${high}${flipped}`,
      `0x${r}${high}${flipped === '1b' ? '00' : '01'}`,
      `0x${r}${s}${v === '1b' ? '00' : '01'}`,
      `0x${r}${s}${v}`.toUpperCase().replace('X', 'x'),
    ]) {
      expect(await codeOf(signIn, { ...sent, signature }), signature).toBe('INVALID_SIGNATURE');
    }
    const y = BigInt(`0x${s}`) | (v === '1c' ? 1n << 255n : 0n);
    const short = `0x${r}${y.toString(16).padStart(64, '0')}`;
    expect(await codeOf(signIn, { ...sent, signature: short })).toBe('INVALID_WALLET');
    expect(await codeOf(signIn, sent)).toBeUndefined();
  });

  test('refuses S plus the order, other signs and leading ones for Solana', async () => {
    const sent = await signed('Solana fields', newSolanaWallet());
    const signature = base58.decode(String(sent.signature));
    const added = withScalar(signature, scalarOf(signature) + ED25519_L);
    const signFlipped = Uint8Array.from(signature, (byte, index) => (index === 31 ? byte ^ 0x80 : byte));
    for (const other of [added, signFlipped, new Uint8Array([0, ...signature]), signature.slice(0, 63)]) {
      expect(await codeOf(signIn, { ...sent, signature: base58.encode(other) })).toBe('INVALID_SIGNATURE');
    }
    expect(await codeOf(signIn, sent)).toBeUndefined();
  });
});

describe('a signature that was made for something else', () => {
  test('is refused for typed data (EIP-712) that contains the text', async () => {
    const wallet = newEvmWallet();
    const sent = await signed('evm text', wallet);
    const signature = await wallet.signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: 8453 },
      types: { Permit: [{ name: 'message', type: 'string' }] },
      primaryType: 'Permit',
      message: { message: String(sent.message) },
    });
    expect(await codeOf(signIn, { ...sent, signature })).toBe('INVALID_SIGNATURE');
    expect(await codeOf(signIn, { ...sent, signature: await wallet.sign({ hash: hashOf('1') }) })).toBe(
      'INVALID_SIGNATURE',
    );
  });

  test('is refused for a transaction of an evm chain', async () => {
    const wallet = newEvmWallet();
    const sent = await signed('evm fields', wallet);
    const transaction = await wallet.signTransaction({
      chainId: 8453,
      to: wallet.address,
      value: 1n,
      gas: 21_000n,
      gasPrice: 1n,
    });
    expect(await codeOf(signIn, { ...sent, signature: transaction })).toBe('INVALID_WALLET');
    expect(await codeOf(signIn, { address: wallet.address, message: transaction, signature: sent.signature })).toBe(
      'INVALID_MESSAGE',
    );
  });

  test('is refused for a transaction of Solana', async () => {
    const wallet = newSolanaWallet();
    const compiled = compileTransactionMessage({
      version: 0,
      feePayer: { address: wallet.address },
      lifetimeConstraint: { blockhash: wallet.address, lastValidBlockHeight: 1n },
      instructions: [],
    } as never);
    const bytes = Buffer.from(getCompiledTransactionMessageEncoder().encode(compiled));
    const signature = base58.encode(wallet.sign(bytes));
    const base = { address: wallet.address, signature, type: 'ed25519' };
    for (const message of [bytes.toString('latin1'), bytes.toString('base64'), base58.encode(bytes)]) {
      expect(await codeOf(signIn, { ...base, message })).toBe('INVALID_MESSAGE');
    }
    const sent = await signed('Solana fields', wallet);
    expect(await codeOf(signIn, { ...sent, signature })).toBe('INVALID_SIGNATURE');
  });

  test.each(FORMS)("is refused for another wallet's signature over the same text: %s", async (form) => {
    const make = form.startsWith('evm') ? newEvmWallet : newSolanaWallet;
    const [one, other] = [make(), make()];
    const terms = { nonce: newNonce(), nowMs: Date.now() };
    const sent = await signed(form, one, terms);
    const signature = await signText(other, textOf(form, one.address, terms));
    expect(await codeOf(signIn, { ...sent, signature })).toBe('INVALID_SIGNATURE');
  });
});

describe('Ed25519, where implementations differ ("Taming the many EdDSAs")', () => {
  const small = [
    ...['01', '00', `${'00'.repeat(31)}80`, `01${'00'.repeat(30)}80`].map((hex) => hex.padEnd(64, '0')),
    ...[`ec${'ff'.repeat(30)}7f`, `ec${'ff'.repeat(31)}`],
    ...['c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
    ...['c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'],
    ...['26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ...['26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'],
    // The values zero and one again, written as p and p + 1.
    ...[`ed${'ff'.repeat(30)}7f`, `ed${'ff'.repeat(31)}`, `ee${'ff'.repeat(30)}7f`, `ee${'ff'.repeat(31)}`],
  ].map((hex) => Buffer.from(hex, 'hex'));

  test('refuses keys of small order in every encoding, and keys above p', () => {
    for (const key of small) expect(isValidPublicKey(key), key.toString('hex')).toBe(false);
    for (let low = 0xed; low <= 0xff; low += 1) {
      const key = Buffer.from(`${low.toString(16)}${'ff'.repeat(30)}7f`, 'hex');
      expect(isValidPublicKey(key)).toBe(false);
    }
    for (const length of [0, 31, 33]) expect(isValidPublicKey(Buffer.alloc(length, 7))).toBe(false);
  });

  test('refuses the constant signature that other libraries accept for the neutral element, on 200 messages', async () => {
    const identity = Buffer.from('01'.padEnd(64, '0'), 'hex');
    const signature = base58.encode(Buffer.concat([identity, Buffer.alloc(32)]));
    const zero = base58.encode(Buffer.alloc(64));
    for (const key of [...small, Buffer.alloc(32)]) {
      const address = base58.encode(key);
      for (let turn = 0; turn < 15; turn += 1) {
        const message = textOf('Solana text', address, { nonce: newNonce(), nowMs: Date.now() });
        const sent = { address, message, type: 'ed25519' };
        expect(await codeOf(signIn, { ...sent, signature })).toBe('INVALID_WALLET');
        expect(await codeOf(signIn, { ...sent, signature: zero })).toBe('INVALID_WALLET');
      }
    }
  });

  const wallet = ed25519.utils.getExtendedPublicKey(new Uint8Array(32).fill(7));
  const message = Buffer.from('a message');
  const point = (hex: Buffer | Uint8Array) => ed25519.ExtendedPoint.fromHex(hex, true);
  /** Signs with any R and key, also with those that no library makes. */
  function forged(choice: { key?: Uint8Array; r: Uint8Array; nonce: bigint }): Uint8Array {
    const key = choice.key ?? wallet.pointBytes;
    const k = hashToScalar(choice.r, key, message);
    const scalar = (choice.nonce + k * wallet.scalar) % ED25519_L;
    return withScalar(new Uint8Array([...choice.r, ...new Uint8Array(32)]), scalar);
  }

  test('accepts a correct signature', () => {
    const r = ed25519.ExtendedPoint.BASE.multiply(99n).toRawBytes();
    expect(isSignedBy(wallet.pointBytes, message, forged({ r, nonce: 99n }))).toBe(true);
    expect(ed25519.verify(forged({ r, nonce: 99n }), message, wallet.pointBytes)).toBe(true);
  });

  test('does not reduce an R above p', () => {
    // p + 1 encodes the neutral element, which is 0 times the base point.
    const r = Buffer.from(`ee${'ff'.repeat(30)}7f`, 'hex');
    expect(isSignedBy(wallet.pointBytes, message, forged({ r, nonce: 0n }))).toBe(false);
  });

  test('refuses small-order parts in R by the equation without cofactor', () => {
    const torsion = point(small[8] ?? Buffer.alloc(0));
    const r = ed25519.ExtendedPoint.BASE.multiply(99n).add(torsion).toRawBytes();
    const mixedR = forged({ r, nonce: 99n });
    expect(ed25519.verify(mixedR, message, wallet.pointBytes, { zip215: true })).toBe(true);
    expect(isSignedBy(wallet.pointBytes, message, mixedR)).toBe(false);
  });

  test('refuses an S that is not below the order', () => {
    const good = forged({ r: ed25519.ExtendedPoint.BASE.multiply(99n).toRawBytes(), nonce: 99n });
    for (let times = 1n; times <= 14n; times += 1n) {
      const added = withScalar(good, scalarOf(good) + times * ED25519_L);
      expect(isSignedBy(wallet.pointBytes, message, added)).toBe(false);
    }
    expect(isSignedBy(wallet.pointBytes, message, withScalar(good, ED25519_L))).toBe(false);
    expect(isSignedBy(wallet.pointBytes, message, good.subarray(0, 63))).toBe(false);
  });

  test('refuses a key that is no point of the curve', () => {
    // 2 is on no point of the curve.
    const nobody = Buffer.from('02'.padEnd(64, '0'), 'hex');
    expect(isSignedBy(nobody, message, Buffer.alloc(64))).toBe(false);
  });

  test('agrees with the other library on 200 signatures and as many damaged ones', () => {
    const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');
    for (let turn = 0; turn < 200; turn += 1) {
      const secret = Buffer.alloc(32, turn);
      secret.writeUInt8(turn ^ 0x55, 5);
      const key = createPrivateKey({ key: Buffer.concat([pkcs8, secret]), format: 'der', type: 'pkcs8' });
      const text = Buffer.from(`message ${turn}`);
      const signature = sign(null, text, key);
      const publicKey = ed25519.getPublicKey(secret);
      expect(isValidPublicKey(publicKey) && isSignedBy(publicKey, text, signature)).toBe(true);
      signature.writeUInt8(signature.readUInt8(turn % 64) ^ (1 << (turn % 8)), turn % 64);
      expect(isSignedBy(publicKey, text, signature)).toBe(false);
    }
  });
});

function parts(signature: string): [r: string, s: string, v: string] {
  return [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
}

function hashOf(digit: string): Hex {
  return `0x${digit.repeat(64)}`;
}

function hashToScalar(...pieces: Uint8Array[]): bigint {
  const digest = ed25519.CURVE.hash(Buffer.concat(pieces));
  return BigInt(`0x${Buffer.from(digest).reverse().toString('hex')}`) % ED25519_L;
}

function scalarOf(signature: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(signature.slice(32)).reverse().toString('hex')}`);
}

function withScalar(signature: Uint8Array, scalar: bigint): Uint8Array {
  const bytes = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
  return new Uint8Array([...signature.slice(0, 32), ...bytes]);
}
