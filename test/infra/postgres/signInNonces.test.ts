import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Wallet } from '../../../domain/wallets.ts';
import { openPool, type Sql } from '../../../infra/postgres/pool.ts';
import {
  createSignInNonces,
  purgeSignInNonces,
  type SignInNonces,
  type UsedNonce,
} from '../../../infra/postgres/signInNonces.ts';
import { createDatabase } from '../../harness/services.ts';

const WALLET: Wallet = { family: 'evm', address: `0x${'a1'.repeat(20)}` };

let databaseUrl: string;
let pool: Sql;
let nonces: SignInNonces;

beforeAll(async () => {
  databaseUrl = await createDatabase();
  pool = openPool({ databaseUrl, applicationName: 'nonces-test' });
  nonces = createSignInNonces(pool);
});
afterAll(async () => {
  await nonces.close();
  await pool.end();
});

function used(nonce: string, more: Partial<UsedNonce> = {}): UsedNonce {
  return { wallet: WALLET, nonce, rememberUntilMs: Date.now() + 330_000, ...more };
}

describe('the single use of a nonce', () => {
  test('refuses the second use, for each wallet and family separately', async () => {
    const solana: Wallet = { family: 'solana', address: WALLET.address };
    const other: Wallet = { family: 'evm', address: `0x${'a2'.repeat(20)}` };
    for (const nonce of [used('one'), used('one', { wallet: solana }), used('one', { wallet: other }), used('two')]) {
      expect(await nonces.use(nonce)).toBe(true);
      expect(await nonces.use(nonce)).toBe(false);
    }
  });

  test('accepts exactly the first of 100 identical nonces in one batch', async () => {
    const twins = await Promise.all(Array.from({ length: 100 }, () => nonces.use(used('twins'))));
    expect(twins).toEqual([true, ...Array(99).fill(false)]);
  });

  test('writes the nonces of one tick in one statement', async () => {
    const seen: string[] = [];
    const counted = new Proxy(pool, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name, target);
        return (statement: { name: string; text: string; values: unknown[][] }) => {
          seen.push(`${statement.name} ${statement.values[0]?.length}`);
          return target.query(statement);
        };
      },
    });
    const own = createSignInNonces(counted);
    const names = Array.from({ length: 50 }, (_, index) => `tick-${index}`);
    expect(await Promise.all(names.map((name) => own.use(used(name))))).toEqual(Array(50).fill(true));
    expect(seen).toEqual(['use_sign_in_nonces 50']);
    await own.close();
  });

  test('repeats a statement whose answer was lost and recognises its own use only', async () => {
    let lost = 0;
    const lossy = new Proxy(pool, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name, target);
        return async (statement: { text: string }) => {
          const answer = await target.query(statement);
          if (lost < 1) {
            lost += 1;
            throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
          }
          return answer;
        };
      },
    });
    const own = createSignInNonces(lossy);
    const outcomes = await Promise.all([own.use(used('lost')), own.use(used('lost')), own.use(used('lost too'))]);
    expect(lost).toBe(1);
    expect(outcomes).toEqual([true, false, true]);
    expect(await nonces.use(used('lost'))).toBe(false);
    await own.close();
  });

  test('uses each of 300 nonces once when two processes write them in opposite order', async () => {
    const second = openPool({ databaseUrl, applicationName: 'nonces-test-2' });
    const others = createSignInNonces(second);
    const names = Array.from({ length: 300 }, (_, index) => `shared-${index}`);
    const [mine, theirs] = await Promise.all([
      Promise.all(names.map((name) => nonces.use(used(name)))),
      Promise.all([...names].reverse().map((name) => others.use(used(name)))),
    ]);
    const won = mine.map((ours, index) => Number(ours) + Number(theirs[names.length - 1 - index]));
    expect(won).toEqual(names.map(() => 1));
    await others.close();
    await second.end();
  });

  test('accepts no nonce that may already be purged by the clock of the database', async () => {
    expect(await nonces.use(used('late', { rememberUntilMs: Date.now() - 1_000 }))).toBe(false);
  });

  test('asks callers beyond the queue to retry later', async () => {
    const many = Array.from({ length: 6_000 }, (_, index) => nonces.use(used(`flood-${index}`)));
    const outcomes = await Promise.allSettled(many);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(outcomes.filter((one) => one.status === 'fulfilled' && one.value)).toHaveLength(4_096);
    expect(refused).toHaveLength(1_904);
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable' } });
  });
});

describe('stored nonces', () => {
  test('are written to the WAL and survive a restart', async () => {
    const { rows } = await pool.query(`select relpersistence from pg_class where relname = 'sign_in_nonces'`);
    expect(rows).toEqual([{ relpersistence: 'p' }]);
  });

  test('are purged in pages, and only when they can no longer be used', async () => {
    await pool.query('delete from sign_in_nonces');
    await nonces.use(used('young'));
    await pool.query(`insert into sign_in_nonces
      select gen_random_uuid(), gen_random_uuid(), clock_timestamp() - interval '1 ms' from generate_series(1, 25)`);
    expect(await purgeSignInNonces(pool, 10)).toBe(10);
    expect(await purgeSignInNonces(pool, 10)).toBe(10);
    expect(await purgeSignInNonces(pool, 10)).toBe(5);
    expect(await purgeSignInNonces(pool, 10)).toBe(0);
    expect(await nonces.use(used('young'))).toBe(false);
  });
});
