import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SignIn } from '../../../../api/auth/signIn/signIn.ts';
import { FORMS, type Form, newEvmWallet, newSolanaWallet, type Sent, signed } from '../../../harness/signIns.ts';
import { mutations } from './mutations.ts';
import { codeOf, createSignInWorld, type SignInWorld } from './signInWorld.ts';

const nowMs = Date.now();
const ROWS = mutations(nowMs);

describe('a valid sign-in with one change', () => {
  let world: SignInWorld;
  let signIn: SignIn;
  const good = new Map<Form, Sent>();

  beforeAll(async () => {
    world = await createSignInWorld();
    signIn = world.open({ clock: { now: () => nowMs } });
    for (const form of FORMS) {
      const wallet = form.startsWith('evm') ? newEvmWallet() : newSolanaWallet();
      good.set(form, await signed(form, wallet, { nowMs }));
    }
  });
  afterAll(() => world.close());

  test('has hundreds of distinct changes', () => {
    expect(ROWS.length).toBeGreaterThan(600);
    expect(new Set(ROWS.map(([form, name]) => `${form} ${name}`)).size).toBe(ROWS.length);
  });

  test.each(FORMS)('%s: is refused with the code of the rule that it breaks', async (form) => {
    const told: string[] = [];
    const expected: string[] = [];
    for (const [of, name, change, code] of ROWS) {
      if (of !== form) continue;
      const sent = change(good.get(form) ?? {});
      told.push(`${name}: ${await codeOf(signIn, sent)}`);
      expected.push(`${name}: ${code}`);
    }
    expect(told).toEqual(expected);
  });

  test('keeps its nonce after the refusals, and is accepted once', async () => {
    const { rows } = await world.pool.query('select count(*)::int as count from sign_in_nonces');
    expect(rows).toEqual([{ count: 0 }]);
    for (const form of FORMS) {
      expect(await codeOf(signIn, good.get(form)), form).toBeUndefined();
      expect(await codeOf(signIn, good.get(form)), form).toBe('NONCE_REUSED');
    }
  });
});
