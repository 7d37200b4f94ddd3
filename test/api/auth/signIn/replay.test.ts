import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMS, newEvmWallet, newSolanaWallet, signed, signText } from '../../../harness/signIns.ts';
import { codeOf, createSignInWorld, type SignInWorld } from './signInWorld.ts';

describe('a repeated sign-in', () => {
  let world: SignInWorld;
  beforeAll(async () => {
    world = await createSignInWorld();
  });
  afterAll(() => world.close());

  test.each(FORMS)('%s: is accepted once of 1,000 times at once over two processes', async (form) => {
    const two = [world.open(), world.open()];
    const sent = await signed(form, form.startsWith('evm') ? newEvmWallet() : newSolanaWallet());
    const codes = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => codeOf(two[index % 2] ?? world.open(), sent)),
    );
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(codes.filter((code) => code === 'NONCE_REUSED')).toHaveLength(999);
  });

  test('is the same in its other form and in other spellings of JSON and base64', async () => {
    const signIn = world.open();
    const wallet = newEvmWallet();
    const terms = { nonce: 'abcdefgh12345678', nowMs: Date.now() };
    const [text, fields] = [await signed('evm text', wallet, terms), await signed('evm fields', wallet, terms)];
    expect(text.signature).toBe(fields.signature);
    const { signature, ...rest } = fields;
    const spaced = Buffer.from(JSON.stringify({ signature, ...rest, extra: 1 }, undefined, 1)).toString('base64');
    const codes = await Promise.all(
      [text, fields, spaced, spaced.replace(/=+$/, '')].map((sent) => codeOf(signIn, sent)),
    );
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(codes.filter((code) => code === 'NONCE_REUSED')).toHaveLength(3);
  });

  test('is known to a process that starts later', async () => {
    const sent = await signed('evm fields', newEvmWallet());
    const first = world.open();
    expect(await codeOf(first, sent)).toBeUndefined();
    await first.close();
    expect(await codeOf(world.open(), sent)).toBe('NONCE_REUSED');
  });

  test('uses up its nonce before the answer: a second sign-in needs its own nonce', async () => {
    const wallet = newSolanaWallet();
    const signIn = world.open();
    const nonce = 'sameNonce123';
    expect(await codeOf(signIn, await signed('Solana text', wallet, { nonce }))).toBeUndefined();
    const later = await signed('Solana text', wallet, { nonce, nowMs: Date.now() + 5_000 });
    expect(await codeOf(signIn, later)).toBe('NONCE_REUSED');
    expect(await codeOf(signIn, await signed('Solana text', newSolanaWallet(), { nonce }))).toBeUndefined();
  });

  test('is refused by a process whose clock is behind once its nonce may be forgotten', async () => {
    const behind = world.open({ clock: { now: () => Date.now() - 60_000 } });
    const wallet = newEvmWallet();
    const old = await signed('evm text', wallet, { nowMs: Date.now() - 331_000 });
    const message = String(old.message).replace(/\nExpiration.*/, '');
    const sent = { address: wallet.address, message, signature: await signText(wallet, message) };
    expect(await codeOf(behind, sent)).toBe('NONCE_REUSED');
    expect(await codeOf(world.open(), sent)).toBe('EXPIRED');
  });

  test('is refused while the database does not answer', async () => {
    const signIn = world.open({
      sql: {
        query: () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })),
      } as never,
    });
    await expect(codeOf(signIn, await signed('evm fields', newEvmWallet()))).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
